import { execFile } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const mount = 'mount -t tmpfs -o size="$2" tmpfs "$1"'

/**
 * Runs a script with the folder of a small disk, which no other process sees, as its argument. The script may mount others. It is for tests of a full disk.
 *
 * @param size as `mount` takes it, such as `600k`
 * @returns what the script prints as JSON; null where nothing can be mounted, as outside of Linux
 */
export async function onSmallDisk(size: string, script: URL): Promise<Record<string, unknown> | null> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-full-'))
  try {
    const possible = await apart(mount, folder, size).then(
      () => true,
      () => false,
    )
    if (!possible) return null
    const command = `${mount} && exec "$3" --conditions=nodekeep-source "$4" "$1"`
    const { stdout } = await apart(command, folder, size, process.execPath, fileURLToPath(script))
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Writes a new file until its disk has no space at all. */
export function fillDisk(file: string): void {
  const descriptor = openSync(file, 'wx')
  try {
    for (let bytes = 2 ** 20; bytes >= 1; bytes /= 2) {
      const piece = Buffer.alloc(bytes, 1)
      try {
        for (;;) writeSync(descriptor, piece)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

function apart(commands: string, ...args: string[]) {
  return run('unshare', ['--map-root-user', '--mount', 'sh', '-c', commands, 'sh', ...args])
}
