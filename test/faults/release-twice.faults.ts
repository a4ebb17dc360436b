import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../run/command.ts'
import { readPackages } from '../walls/packages.ts'
import type { Fault, Round } from './fault.ts'

const run = promisify(execFile)

/** The differences between two machines that build the same commit. */
interface Machine {
  readonly folder: string
  readonly umask: string
  readonly timeZone: string
  readonly language: string
  /** The time of all files of the sources, as `touch -d` takes it. */
  readonly filesFrom: string
}

const machines: readonly Machine[] = [
  { folder: 'one', umask: '022', timeZone: 'UTC', language: 'C', filesFrom: '2020-02-02' },
  {
    folder: 'a second folder',
    umask: '077',
    timeZone: 'Pacific/Kiritimati',
    language: 'de_DE.UTF-8',
    filesFrom: '2031-12-31',
  },
]

/** Builds the release of the commit from a checkout of its own. Returns the hash of the archive. */
async function build(machine: Machine, work: string, signal: AbortSignal): Promise<string> {
  const folder = join(work, machine.folder)
  const env = {
    PATH: process.env.PATH,
    HOME: work,
    TZ: machine.timeZone,
    LC_ALL: machine.language,
    npm_config_offline: 'true',
  }
  const shell = (commands: string) =>
    run('sh', ['-ec', `umask ${machine.umask}; ${commands}`, 'sh', root, folder], { env, signal })
  await shell('git clone --quiet --shared "$1" "$2"')
  for (const { folder: inner } of readPackages(root)) {
    const libraries = join(inner, 'node_modules')
    if (!existsSync(join(root, libraries))) continue
    await cp(join(root, libraries), join(folder, libraries), { recursive: true, verbatimSymlinks: true })
  }
  await shell(
    `find "$2" -name .git -prune -o -name node_modules -prune -o -exec touch -d ${machine.filesFrom} {} +`,
  )
  await shell(`cd "$2"; '${process.execPath}' runtime.js test/release/release.ts ../"$(basename "$2")-built"`)
  const [archive] = await Array.fromAsync(glob('*.tar.gz', { cwd: `${folder}-built` }))
  assert.ok(archive)
  return createHash('sha256')
    .update(await readFile(join(`${folder}-built`, archive)))
    .digest('hex')
}

export default {
  name: 'Two builds of a commit are equal, byte for byte, whatever their folders, umasks, time zones, languages and times of files.',
  defaultRounds: 1,
  roundSeconds: 1200,
  async round({ signal, log }: Round) {
    const work = await mkdtemp(join(tmpdir(), 'nodekeep-release-twice-'))
    try {
      const hashes: string[] = []
      for (const machine of machines) {
        hashes.push(await build(machine, work, signal))
        log(`${machine.folder}: ${hashes.at(-1)}`)
      }
      assert.equal(hashes[0], hashes[1])
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  },
} satisfies Fault
