"""What must not be told: names of fields that hold it → values this process knows → texts without them → logs (Z4)."""
