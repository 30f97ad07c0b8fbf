"""Every complaint about an agent: `about` what one is, two tables of them, and `page` for docs/complaints.md."""
