import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { restoredEntriesFile } from '@nodekeep/plugin-sdk'
import type { Fault, Round } from './fault.ts'
import {
  type ArchiveSource,
  generateKey,
  planArchive,
  startWithRestores,
  stateWith,
  writeArchive,
} from './fixtures/restore-archive.ts'
import type { Random } from './random.ts'

const program = fileURLToPath(new URL('./fixtures/restore-program.ts', import.meta.url))

const uuids = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const

/** Files by their paths, with their times of modification in milliseconds where a restore keeps them. */
type Tree = Map<string, { readonly bytes: Buffer; readonly modified?: number }>

/** A backup in its folder, and what the data folder has to be after its restore. */
interface Made {
  readonly archive: string
  readonly restored: Tree
  /** The secret half of its recovery key; null if it is not encrypted. */
  readonly identity: string | null
}

/** An event during a restore. Each tells whether the node must have the former data then, that of the backup, or either. */
type Happening = (dataFolder: string, made: Made, round: Round) => Promise<'refused' | 'restored' | 'either'>

const isFlipped: Happening = async (dataFolder, { archive, identity }, { random, log }) => {
  const bytes = await readFile(archive)
  for (let count = random.pick([1, 1, 2, 20]); count > 0; count -= 1) {
    const at = random.integer(0, bytes.length - 1)
    bytes[at] = (bytes[at] as number) ^ (1 << random.integer(0, 7))
    log(`a bit at ${at} of ${bytes.length} is flipped`)
  }
  await writeFile(archive, bytes)
  // A bit of a header of gzip, such as its time, changes nothing.
  await planArchive(dataFolder, archive, keysOf(identity))
  return 'either'
}

const isCut: Happening = async (dataFolder, { archive, identity }, { random, log }) => {
  const { size } = await lstat(archive)
  const length = random.chance(0.3) ? size - random.integer(1, 40) : random.integer(0, size - 1)
  log(`the archive is cut to ${length} of ${size} bytes`)
  await truncate(archive, length)
  await refused(planArchive(dataFolder, archive, keysOf(identity)))
  return 'refused'
}

const hasWrongKey: Happening = async (dataFolder, { archive, identity }, { random, log }) => {
  assert.ok(identity !== null)
  const at = random.integer(0, identity.length - 1)
  const slip = random.pick(['Q', 'P', 'Z', '1', ' ', 'l'])
  const key = random.pick([
    (await generateKey()).identity,
    identity.slice(0, at),
    identity.slice(0, at) + slip + identity.slice(at + 1),
    identity.slice(0, at) + identity.slice(at + 1),
    null,
  ])
  log(`the key is ${key}`)
  const isRight = key !== null && key.replaceAll(/\s/g, '') === identity
  const restore = planArchive(dataFolder, archive, keysOf(key))
  if (isRight) {
    assert.equal(await restore, null)
    return 'restored'
  }
  await refused(restore)
  return 'refused'
}

const isKilled: Happening = async (dataFolder, { archive, identity }, { random, log }) => {
  const step = random.integer(1, 75)
  log(`the process is killed at step ${step}`)
  await run(process.execPath, [...programArguments(dataFolder, archive, identity)], {
    KILL_AT_STEP: `${step}`,
  })
  return 'either'
}

/** Puts the data folder on a disk of its own, which is too small for many backups, and keeps what is left there. */
const hasNoSpace: Happening = async (dataFolder, made, round) => {
  const { archive, identity } = made
  const { random, log } = round
  const { stdout: used } = await run('du', ['-sk', dataFolder])
  const kibibytes = Number.parseInt(used, 10) + random.integer(0, random.pick([100, 400, 1500]))
  log(`the disk has ${kibibytes} KiB`)
  const commands = [
    'disk=$(mktemp -d)',
    'mount -t tmpfs -o size="$1"k tmpfs "$disk" || exit 77',
    'cp -a "$2/." "$disk" || exit 78',
    '"$3" --conditions=nodekeep-source "$4" "$disk" "$5" $6',
    'code=$?',
    // The start that applies the restore needs space, too. The next one has it, and goes on.
    'if [ $code = 3 ]; then',
    '  mount -o remount,size=64m "$disk"',
    '  "$3" --conditions=nodekeep-source "$4" "$disk"; code=$?',
    'fi',
    'find "$2" -mindepth 1 -delete',
    'cp -a "$disk/." "$2"',
    'umount "$disk" && rmdir "$disk"',
    'exit $code',
  ]
  const args = [`${kibibytes}`, dataFolder, process.execPath, program, archive, identity ?? '']
  const options = ['--map-root-user', '--mount', 'sh', '-c', commands.join('\n'), 'sh']
  const { code, stdout } = await run('unshare', [...options, ...args])
  if (code === 77) {
    log('nothing can be mounted here, so that no disk can be filled')
    return await isCut(dataFolder, made, round)
  }
  assert.equal(code, 0, 'the restore ends with an error of its own')
  const { code: error } = JSON.parse(stdout)
  log(`the restore ended with ${error}`)
  assert.ok(error === null || error === 'INSUFFICIENT_STORAGE')
  return error === null ? 'restored' : 'refused'
}

const happenings = [isFlipped, isCut, hasWrongKey, isKilled, hasNoSpace] as const

function keysOf(identity: string | null): string[] {
  return identity === null ? [] : [identity]
}

async function refused(restore: Promise<string | null>): Promise<void> {
  assert.equal(await restore, 'VALIDATION_ERROR')
}

function programArguments(dataFolder: string, archive: string, identity: string | null): string[] {
  return ['--conditions=nodekeep-source', program, dataFolder, archive, ...keysOf(identity)]
}

/** Runs a program to its end, whatever that is. `code` is null after a kill. */
function run(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const { NODE_OPTIONS: _options, ...env } = process.env
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { env: { ...env, ...environment } }, (_error, stdout, stderr) => {
      const { exitCode: code, signalCode } = child
      if (code === 1 || (signalCode !== null && signalCode !== 'SIGKILL')) reject(new Error(stderr))
      else resolve({ code, stdout })
    })
  })
}

function contentOf(random: Random): Buffer {
  if (random.chance(0.2)) return random.bytes(random.integer(0, 20_000))
  return Buffer.alloc(random.integer(0, random.chance(0.1) ? 1_000_000 : 3000), `${random.float()};`)
}

/** Files of one user. */
function filesOf(random: Random, root: string): Tree {
  const tree: Tree = new Map()
  for (let index = random.integer(1, 12); index > 0; index -= 1) {
    const folder = random.pick(['', 'a/', 'a/b/', 'ü \u{1f600}/', `${'long'.repeat(50)}/`])
    const modified = random.integer(0, 1_800_000_000_000)
    tree.set(`${root}/${folder}${index}`, { bytes: contentOf(random), modified })
  }
  return tree
}

/** Writes the present data of a node. */
async function fill(dataFolder: string, scratch: string, random: Random): Promise<Tree> {
  const tree: Tree = new Map([
    ['state.sqlite', { bytes: await stateWith(join(scratch, 'former'), uuids[0], 'former') }],
    ['identity/node.key', { bytes: random.bytes(32) }],
    ['plugins/marked/marks.sqlite', { bytes: contentOf(random) }],
    ['plugins/other/data', { bytes: contentOf(random) }],
    ...filesOf(random, `files/${uuids[0]}`),
    ...(random.chance(0.5) ? filesOf(random, 'files/33333333-3333-4333-8333-333333333333') : []),
  ])
  for (const [path, { bytes }] of tree) {
    await mkdir(dirname(join(dataFolder, path)), { recursive: true })
    await writeFile(join(dataFolder, path), bytes)
  }
  return await readTree(dataFolder)
}

/** Writes a backup. */
async function make(scratch: string, random: Random, isEncrypted: boolean): Promise<Made> {
  const state = await stateWith(join(scratch, 'backup'), uuids[0], 'backup')
  const marks = contentOf(random)
  const key = random.chance(0.8) ? random.bytes(32) : null
  const memo = filesOf(random, 'memo')
  const files = new Map(
    uuids.slice(0, random.integer(0, 2)).flatMap((one) => [...filesOf(random, `files/local/${one}`)]),
  )
  const packed: Tree = new Map([
    ['state/state.sqlite', { bytes: state }],
    ['state/plugins/marked/marks.sqlite', { bytes: marks }],
    ['configuration/config.json', { bytes: Buffer.from('{}') }],
    ...(key === null ? [] : ([['identity/node.key', { bytes: key }]] as const)),
    ...memo,
    ...files,
  ])
  const restored: Tree = new Map([
    ['state.sqlite', { bytes: state }],
    ['plugins/marked/marks.sqlite', { bytes: marks }],
    ...(key === null ? [] : ([['identity/node.key', { bytes: key }]] as const)),
    ...[...memo].map(([path, file]) => [path.replace('memo/', 'plugins/memo/restored/'), file] as const),
    ...[...files].map(([path, file]) => [path.replace('files/local/', 'files/'), file] as const),
  ])
  const archive = join(scratch, 'backup-20261101-030000.tar.gz')
  const header = {
    nodekeep: '1.2.3',
    created: '2026-11-01T03:00:00.000Z',
    plugins: [],
    omitted: [],
    folders: [{ path: 'files/local', plugin: 'storage-local', key: 'root' }],
  }
  const pair = isEncrypted ? await generateKey() : null
  const recipients = pair === null ? [] : [pair.recipient]
  await writeArchive(archive, { header, entries: sourcesOf(packed), recipients })
  return { archive, restored, identity: pair?.identity ?? null }
}

async function* sourcesOf(tree: Tree): AsyncGenerator<ArchiveSource> {
  for (const [path, { bytes, modified = 0 }] of tree) {
    const open = async function* () {
      yield bytes
    }
    yield { path, type: 'file', size: bytes.length, modified: new Date(modified), open }
  }
}

/** The files below a folder. */
async function readTree(folder: string): Promise<Tree> {
  const tree: Tree = new Map()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    // A list for plugins, which the backup does not have.
    if (!entry.isFile() || entry.name === restoredEntriesFile) continue
    const file = join(entry.parentPath, entry.name)
    const { mtimeMs } = await lstat(file)
    tree.set(file.slice(folder.length + 1), { bytes: await readFile(file), modified: Math.round(mtimeMs) })
  }
  return tree
}

/** A start that applies a restore locks the folders of storages. */
function isOfRestores(path: string): boolean {
  return /^(restore|files\/\.nodekeep\/restore)\//.test(path) || path === 'files/.nodekeep/lock'
}

/** Compares files, and their times where they are known. */
function assertSame(found: Tree, expected: Tree, message: string): void {
  assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort(), message)
  for (const [path, { bytes, modified }] of expected) {
    const file = found.get(path)
    assert.ok(file?.bytes.equals(bytes), `${message}: ${path} differs`)
    if (modified !== undefined) assert.equal(file?.modified, modified, `${message}: the time of ${path}`)
  }
}

/** The kept part of the data folder from before the restore, by its former paths. */
function previousIn(all: Tree): Tree {
  const previous: Tree = new Map()
  for (const [path, file] of all) {
    const [, storage, rest] = /^(files\/\.nodekeep\/)?restore\/[^/]+\/previous\/(.*)$/s.exec(path) ?? []
    if (rest !== undefined) previous.set(storage === undefined ? rest : `files/${rest}`, file)
  }
  return previous
}

export default {
  name: 'After a kill, a full disk, flipped bits, a cut archive or a wrong key, a restore is whole, or refused and the data is as before.',
  defaultRounds: 1000,
  async round(round: Round) {
    const { random, log } = round
    const scratch = await mkdtemp(join(tmpdir(), 'nodekeep-seeds-'))
    try {
      const dataFolder = join(scratch, 'data')
      const happening = random.pick(happenings)
      const isEncrypted = happening === hasWrongKey || random.chance(0.3)
      const former = await fill(dataFolder, scratch, random)
      const made = await make(scratch, random, isEncrypted)
      log(`${happening.name}, ${isEncrypted ? 'encrypted' : 'plain'}`)
      const outcome = await happening(dataFolder, made, round)
      await startWithRestores(dataFolder)

      const all = await readTree(dataFolder)
      const present: Tree = new Map([...all].filter(([path]) => !isOfRestores(path)))
      const isRestored = !(former.get('state.sqlite') as { bytes: Buffer }).bytes.equals(
        present.get('state.sqlite')?.bytes ?? Buffer.alloc(0),
      )
      log(isRestored ? 'the data is that of the backup' : 'the data is as before')
      if (outcome !== 'either') assert.equal(isRestored, outcome === 'restored')
      if (!isRestored) {
        assertSame(present, former, 'the data is as before')
        const left = await readdir(join(dataFolder, 'restore')).catch(() => [])
        assert.deepEqual(
          left.filter((name) => name !== 'lock'),
          [],
          'nothing of the restore is left',
        )
        assert.ok(!existsSync(join(dataFolder, 'files/.nodekeep/restore')), 'nothing is left in the storage')
        return
      }
      const { restored } = made
      const kept: Tree = new Map(former)
      if (!restored.has('identity/node.key')) {
        restored.set('identity/node.key', former.get('identity/node.key') as { bytes: Buffer })
        kept.delete('identity/node.key')
      }
      assertSame(present, restored, 'the data is that of the backup')
      assertSame(previousIn(all), kept, 'the former data is kept')
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  },
} satisfies Fault
