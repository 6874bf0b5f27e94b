"""The widths of all groups, read where groups are made."""


class Parallel:
    def override_permanently(self, **widths):
        vars(self).update(widths)


parallel = Parallel()


def get_parallel():
    return parallel
