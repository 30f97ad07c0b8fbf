"""The turns that run in this process.

turns starts, keeps and ends them, and its heartbeat renews their leases; waker lets a queue go on in the transaction
that frees it; queues are those that this process serves.
"""
