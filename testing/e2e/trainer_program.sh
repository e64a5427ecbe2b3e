#!/bin/sh
# What the pods of e2e/trainer_check.py run: says what torchrun would get, waits for a file, and ends
# with the exit status of its argument. With one that is not 0 it does not wait.
gpu=$(gpusmi | grep -o 'of [0-9]* bytes' | head -1)
echo "rank $PET_NODE_RANK of $PET_NNODES, $PET_NPROC_PER_NODE process, $PET_MASTER_ADDR:$PET_MASTER_PORT, GPU $gpu"
[ "$1" = 0 ] || exit "$1"
until ping -c 1 "$PET_MASTER_ADDR" > /dev/null 2>&1; do sleep 0.2; done
echo ready
until [ -e /tmp/end ]; do sleep 0.2; done
