import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * The mount points that this process sees. A rename fails between two mounts of one file system (`mount --bind`), which have one
 * device number, and it fails for a mount point itself. Containers have such mounts.
 */
export class MountPoints {
  readonly #paths = readMountPoints()

  /** The mount point of a path: itself if it is one. On systems that do not tell, everything is on one mount. */
  above(path: string): string {
    for (let at = join(realpathSync(dirname(path)), basename(path)); ; at = dirname(at)) {
      if (this.#paths.has(at) || at === dirname(at)) return at
    }
  }
}

/** See `/proc/<pid>/mountinfo` in proc_pid_mountinfo(5): spaces and some other characters of paths are octal numbers. */
function readMountPoints(): ReadonlySet<string> {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'latin1').trim().split('\n')
    return new Set(lines.map((line) => unescaped(line.split(' ')[4] ?? '')))
  } catch {
    return new Set()
  }
}

function unescaped(path: string): string {
  const bytes = path.replace(/\\([0-7]{3})/g, (_match, octal) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
  return Buffer.from(bytes, 'latin1').toString()
}
