"""Two revisions of the package beside each other: equal masks and answers, whatever the input.

In: a revision, and seeds. Out: what was compared, and a file for each difference. ::

    vocabularies.py   what is written with, as files
    trees.py          the package of a revision in a folder, with its kernels
    worker.py         runs in a process for each of the two: writes texts, and says what may follow
    process.py        such a process, from outside; one that dies is begun again
    run.py            the same inputs and texts for both, and what differs
    shrink.py         a difference made small
    verdict.py        which of the two is right
    cases.py          differences as files

What is drawn is in :mod:`support.inputs`, which `fuzz` and `hostile` draw from too.
"""
