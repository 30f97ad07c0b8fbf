"""What alembic runs: migrate on the connection that `schema.py` has opened, inside its transaction."""

from alembic import context

from agentflow.store.sql.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
