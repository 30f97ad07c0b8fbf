"""What passes between agentflow and a provider through litellm.

litellm_loading brings it in; a request goes out by litellm_wire and call_ids; an answer comes in by answer_body and
litellm_wire, and ending says what it came to, with finish_reasons and failures.
"""
