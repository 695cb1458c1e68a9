"""The system calls that a student's program has no use for, and their numbers on the two machines we know.

The kernel checks rights on most of these anyway; refusing them takes their bugs out of reach too. A number is None
where that machine has no such call.
"""

MACHINES = ("x86_64", "aarch64")

#: Refused with "operation not permitted": (number on x86_64, number on aarch64).
# fmt: off
REFUSED = {
    # other processes' memory and descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    # the kernel's key rings: not in a namespace, so a secret of another's could be found there
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # new namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # code in the kernel, and the machine itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116), "acct": (163, 89),
    "personality": (135, 92), "lookup_dcookie": (212, 18), "vhangup": (153, 58), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "sethostname": (170, 161),
    "setdomainname": (171, 162), "migrate_pages": (256, 238), "move_pages": (279, 239), "mbind": (237, 235),
    "set_mempolicy": (238, 237), "set_mempolicy_home_node": (450, 450), "uselib": (134, None),
    "ustat": (136, None), "sysfs": (139, None), "modify_ldt": (154, None), "sysctl": (156, None),
    "iopl": (172, None), "ioperm": (173, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "nfsservctl": (180, 42),
    # memory that belongs to no process: a watcher over processes would not see it
    "shmget": (29, 194), "memfd_secret": (447, 447),
}
# fmt: on

#: Answered with "no such call": libraries then take the older way, whose arguments the filter can see.
ABSENT = {
    "clone3": (435, 435),  # its flags lie in memory, where no filter can look
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
}

#: Calls whose arguments decide.
CLONE = (56, 220)
SOCKET = (41, 198)
IOCTL = (16, 29)

#: The highest number looked at when this table was made. What a newer kernel adds, and x86's x32 calls, don't exist.
HIGHEST = 456
