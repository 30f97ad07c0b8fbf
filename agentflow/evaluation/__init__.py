"""Cases made of conversations, and agents that go through them again (R9).

A case is made by exported → capture → case_file. attempt runs it on a stand_in; expectations, made_calls and judge
look at what came; evaluate does all of it and makes a report.
"""
