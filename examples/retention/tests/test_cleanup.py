"""What `agentflow cleanup` would delete, asked of the runtime under the test's clock."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent
DAY = 86_400


def test_cleanup_deletes_after_thirty_days_and_not_before(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "diary")
    agentflow.send("It rained.", "entry")
    agentflow.tick(30 * DAY)
    assert agentflow.run(agentflow.runtime.records.sweep())["deleted"] == []
    agentflow.tick(1)
    assert agentflow.run(agentflow.runtime.records.sweep(dry_run=True))["deleted"] == ["entry"]
    assert agentflow.run(agentflow.runtime.records.sweep())["deleted"] == ["entry"]
    assert agentflow.run(agentflow.runtime.sessions()).sessions == []
