from hypothesis import settings

# How long an example takes tells of the machine, not of the law.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
