"""Content parts that are no text: what kind of file one is, how it is kept, counted and handed to a model (W4).

kinds      what bytes are, read from the bytes themselves, and how large the picture, the sound or the document is
files      an upload becomes a reference by hash and the bytes it stands for, or a note
addresses  addresses in parts, none of which is ever fetched (Z10)
provider   a reference in the form a provider takes, or a note for a model that cannot read it
counting   how much of a model's window a part takes (X5)
"""
