"""`agentflow chat`, from what is shown to the loop:

views, paragraphs and history are pure or a file; screens is where one types; teller says, following shows what happens,
conversation is the session, commands what can be done in it, chat the loop, and command starts it.
"""
