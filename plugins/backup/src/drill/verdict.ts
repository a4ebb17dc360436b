import { join } from 'node:path'
import { readJson, writeJson } from '@nodekeep/plugin-sdk/durable-files'

/** How the last drill ended. */
export interface DrillVerdict {
  /** The backup. */
  readonly filename: string
  /** ISO 8601. */
  readonly at: string
  /**
   * `passed`: a node was started on the backup and had everything. `verified`: it is large; every byte of it was read and agrees
   * with its checksums, and unless there is a problem, a node had its state and a sample of its files. `failed`. `skipped`: it
   * could not be tried.
   */
  readonly result: 'passed' | 'verified' | 'failed' | 'skipped'
  /** The reason of a failure, of a skipped drill, or why a large backup was only read, for the owner. */
  readonly problem: string | null
  /** How long it took until the restored node answered; null if it did not, or had only a sample of the files. */
  readonly seconds: number | null
}

/** Returns the verdict of the last drill of a node, which may not run; null if there was none. */
export async function readVerdict(dataDir: string): Promise<DrillVerdict | null> {
  return await readJson<DrillVerdict>(verdictFile(dataDir)).catch(() => null)
}

/** Stores the verdict in the folder of the plugin, in place of the one before. */
export async function storeVerdict(dataDir: string, verdict: DrillVerdict): Promise<void> {
  await writeJson(verdictFile(dataDir), verdict)
}

/** Says how the last drill ended, for people: "You could be back in 4 min 12 s, tried today at 03:10." */
export function sentenceOf({ result, at, problem, seconds }: DrillVerdict, now: Date): string {
  const tried = `tried ${whenOf(new Date(at), now)}`
  switch (result) {
    case 'passed':
      return `You could be back in ${durationOf(seconds ?? 0)}, ${tried}.`
    case 'verified':
      return problem === null
        ? `Every byte of the backup is as it was written, and a node started on it with a sample of the files, ${tried}.`
        : `Every byte of the backup is as it was written, ${tried}. No node was started on it: ${problem}`
    case 'skipped':
      return `The last drill did not happen, ${tried}: ${problem}`
    case 'failed':
      return `Do not rely on the last backup, ${tried}: ${problem}`
  }
}

function durationOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}

/** In the time zone of the machine. */
function whenOf(at: Date, now: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (at.toDateString() === now.toDateString()) return `today at ${time}`
  return `on ${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} at ${time}`
}

function verdictFile(dataDir: string): string {
  return join(dataDir, 'drill.json')
}
