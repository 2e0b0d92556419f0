#!/bin/bash
# Tickets as a Slurm array: each task leases one job of the agent `mine`, works on it and ends.
# Nobody has run it on Slurm; see ../../docs/engines.md.
#
#   export SPOOLWIRE_URL=http://gateway:8400 SPOOLWIRE_TOKEN=…    # of the scope `worker`; Slurm passes both on
#   sbatch slurm-array.sh
#
# 100 tickets, 10 at a time.  Slurm does not start one again: attempts are counted by spoolwire alone.
# A minute before the time limit tickets get SIGTERM, and requeue what they cannot finish within --grace.
#SBATCH --job-name=spoolwire-ticket
#SBATCH --array=1-100%10
#SBATCH --no-requeue
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@60

srun python3 -m spoolwire ticket --agent mine=graphs:graph --wait 20 --grace 30
status=$?
[ $status -eq 75 ] && exit 0 # no job waited
exit $status
