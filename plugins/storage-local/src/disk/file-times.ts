import { randomInt } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Disk } from './disk.ts'
import { unlessMissing } from './disk-errors.ts'

const { O_WRONLY, O_CREAT, O_EXCL } = constants

const probeTime = new Date('2001-02-03T04:05:06.789Z')

/** The clock for the times of files goes in steps of 10 ms at most. A probe waits for the next step this often, 1 ms each. */
const maxWaits = 100

let lastPresent = 0

/** The number of times that were set, from a random one on. */
let timesSet = randomInt(1_000_000)

/** How the file system keeps the times of files. */
interface FileTimes {
  /** A file keeps the time of its birth when its other times are set, and when it gets links and other names. */
  readonly haveBirths: boolean
  /** With `haveBirths`, a file keeps the time of modification that is set, to the microsecond. */
  readonly canBeSet: boolean
}

/**
 * Returns the current time in seconds since 1970, but no time twice. The system's own clock for files ticks every few
 * milliseconds only. Within one tick, a new file can get the inode of a removed one; with the same size and the same
 * time, their revisions would be equal.
 */
export function uniquePresent(): number {
  const now = Date.now() * 1000
  // If the clock was set back by more than a second, its times are new again.
  const isNew = now > lastPresent || lastPresent - now > 1_000_000
  lastPresent = isNew ? now : lastPresent + 1
  return lastPresent / 1_000_000
}

/**
 * Returns a time in seconds since 1970, with microseconds that differ from those of other writes with the same time, and half
 * of one, which `uniquePresent` never has. Nothing else distinguishes two files with the same inode, size and time that were
 * made within a second.
 */
export function uniqueTime(time: Date): number {
  timesSet += 1
  // Not the first and the last microseconds of the millisecond: a number of seconds is exact to 8 of them in the year 0.
  return (time.getTime() * 1000 + 10 + (timesSet % 980) + 0.5) / 1_000_000
}

/**
 * Finds out how a file system keeps times. Some have no births, and answer with another time of the file.
 *
 * @param path a free path
 * @param other another one in the same folder
 */
export async function probeFileTimes(disk: Disk, path: string, other: string): Promise<FileTimes> {
  const fd = await disk.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
  try {
    const made = disk.fstatSync(fd)
    // Each other time has to differ from its first value.
    for (let waits = 0; waits < maxWaits && disk.fstatSync(fd).ctimeNs === made.ctimeNs; waits += 1) {
      await delay(1)
      disk.touchSync(fd, uniqueTime(probeTime))
    }
    await disk.link(path, other).catch(() => {})
    await disk.unlink(other).catch(unlessMissing)
    await disk.rename(path, other)
    const { ctimeNs, mtimeNs, birthtimeNs } = disk.fstatSync(fd)
    const haveBirths = birthtimeNs > 0n && birthtimeNs === made.birthtimeNs && ctimeNs !== made.ctimeNs
    const isSet = Number(mtimeNs / 1_000_000n) === probeTime.getTime() && mtimeNs % 1_000_000n > 0n
    return { haveBirths, canBeSet: haveBirths && isSet }
  } finally {
    disk.closeSync(fd)
    await disk.unlink(path).catch(unlessMissing)
    await disk.unlink(other).catch(unlessMissing)
  }
}

/** Returns a disk whose files have no births, in the place of births that do not last. */
export function withoutBirths(disk: Disk): Disk {
  const without = <T extends BigIntStats | undefined>(stats: T): T => {
    if (stats !== undefined) Object.assign(stats, { birthtimeMs: 0n, birthtimeNs: 0n })
    return stats
  }
  return {
    ...disk,
    fstatSync: (fd) => without(disk.fstatSync(fd)),
    stat: async (path) => without(await disk.stat(path)),
    lstat: async (path) => without(await disk.lstat(path)),
    lstatSync: (path) => without(disk.lstatSync(path)),
  }
}
