"""One hypothesis profile for the suite, and no tables from the user's cache folder."""

import os

from hypothesis import settings

os.environ["NIULAB_CACHE"] = ""  # for the processes that tests start, too
settings.register_profile("suite", deadline=None)  # a busy machine is no failure
settings.load_profile("suite")
