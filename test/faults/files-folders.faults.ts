import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type ChangeLog, isNodekeepError, type UserFiles } from '@nodekeep/plugin-sdk'
import type { Fault, Round } from './fault.ts'
import { checkHalfDone } from './files-check.ts'
import { isWithin, within } from './files-tree.ts'
import {
  captureServices,
  createFilesNode,
  type ObjectBackend,
  objectBackend,
  replayRevisions,
} from './fixtures/plugin-fixtures.ts'
import type { Random } from './random.ts'

const mount = '/cold'

/** Starts of the node in a round. In each, the object store fails once. */
const starts = 3

/** The content of files by path, `null` for folders. The root and the mount are not included. */
type Tree = Map<string, string | null>

type Call =
  | { readonly op: 'write'; readonly path: string; readonly content: string }
  | { readonly op: 'makeDirectory' | 'remove'; readonly path: string }
  | {
      readonly op: 'move' | 'copy'
      readonly source: string
      readonly path: string
      readonly overwrite: boolean
    }

/** The node of one start, and the parts of it that the round uses. */
interface Running {
  readonly uuid: string
  readonly files: UserFiles
  readonly store: ObjectBackend
  readonly changes: ChangeLog
  stop(): Promise<void>
}

async function start(dataFolder: string, round: Round, isAtRoot: boolean): Promise<Running> {
  const { random } = round
  const store = objectBackend({ moves: random.chance(0.5), copies: random.chance(0.5) })
  const services = captureServices()
  const mounts = isAtRoot ? { '/': 'objects', [mount]: 'disk' } : { '/': 'disk', [mount]: 'objects' }
  const config = { plugins: { disk: { from: 'storage-local' } }, disk: { root: 'disk' } }
  const plugins = [services.plugin, store.plugin]
  const node = await createFilesNode({ mounts }, { dataFolder, plugins, config })
  const { uuid } = (await node.signIn('owner')).user
  const files = services.files.for({ uuid })
  return { uuid, files, store, changes: services.changes, stop: () => node.stop() }
}

function randomCall(random: Random, tree: Tree): Call {
  const roll = random.float()
  if (roll < 0.25) return randomWrite(random, tree)
  if (roll < 0.3) return { op: 'makeDirectory', path: freePath(random, tree) }
  const source = existingPath(random, tree)
  if (roll < 0.4) return { op: 'remove', path: source }
  const path = random.chance(0.4) ? existingPath(random, tree) : freePath(random, tree)
  return { op: roll < 0.8 ? 'move' : 'copy', source, path, overwrite: random.chance(0.6) }
}

function randomWrite(random: Random, tree: Tree): Call {
  const path = random.chance(0.1) ? existingPath(random, tree) : freePath(random, tree)
  return { op: 'write', path, content: random.bytes(16).toString('hex') }
}

/** A path in an existing folder. It may be taken all the same. */
function freePath(random: Random, tree: Tree): string {
  const name = () => random.pick(['a', 'b', 'c', 'd', 'e', 'f'])
  const folders = ['', mount, ...foldersOf(tree)]
  const folder = random.pick(folders as [string, ...string[]])
  return `${folder}/${name()}${random.chance(0.3) ? `/${name()}` : ''}`
}

/** The path of an entry, often of a folder. */
function existingPath(random: Random, tree: Tree): string {
  const [folders, paths] = [foldersOf(tree), [...tree.keys()]]
  if (paths.length === 0) return freePath(random, tree)
  return random.pick((folders.length > 0 && random.chance(0.6) ? folders : paths) as [string, ...string[]])
}

function foldersOf(tree: Tree): string[] {
  return [...tree].filter(([, content]) => content === null).map(([path]) => path)
}

/** The tree after a call; null if the call is impossible. */
function after(tree: Tree, call: Call): Tree | null {
  const { op, path } = call
  const next = new Map(tree)
  if (op === 'remove') {
    if (!tree.has(path)) return null
    for (const [key] of within(tree, path)) next.delete(key)
    return next
  }
  if (foldersAbove(path).some((folder) => typeof tree.get(folder) === 'string')) return null
  if (op === 'move' || op === 'copy') {
    const { source, overwrite } = call
    if (!tree.has(source) || isWithin(path, source) || isWithin(source, path)) return null
    if (tree.has(path) && !overwrite) return null
    for (const [key] of within(tree, path)) next.delete(key)
    if (op === 'move') for (const [key] of within(tree, source)) next.delete(key)
    for (const [key, content] of within(tree, source)) next.set(path + key.slice(source.length), content)
  } else {
    const there = tree.get(path)
    if (op === 'write' ? there === null : typeof there === 'string') return null
    next.set(path, op === 'write' ? call.content : null)
  }
  for (const folder of foldersAbove(path)) if (folder !== mount) next.set(folder, null)
  return next
}

async function perform(files: UserFiles, call: Call): Promise<unknown> {
  if (call.op === 'write') return files.write(call.path, bytesOf(call.content))
  if (call.op === 'move' || call.op === 'copy')
    return files[call.op](call.source, call.path, { overwrite: call.overwrite })
  return files[call.op](call.path)
}

async function* bytesOf(content: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(content)
}

/** Reads all files. Checks that the journal adds up to the same paths, types and revisions. */
async function readTree({ uuid, files, changes }: Running): Promise<Tree> {
  const tree: Tree = new Map()
  const revisions = new Map<string, string | null>()
  const visit = async (folder: string) => {
    for await (const { path, type, revision = '' } of files.list(folder)) {
      if (path !== mount) {
        tree.set(path, type === 'directory' ? null : await text((await files.read(path)).content))
        revisions.set(path, type === 'directory' ? null : revision)
      }
      if (type === 'directory') await visit(path)
    }
  }
  await visit('/')
  const recorded = replayRevisions(
    await changes.read(uuid, { epoch: changes.epoch, seq: 0, id: '' }, 100_000),
  )
  for (const path of ['/', mount]) recorded.delete(path)
  const sorted = (map: Map<string, string | null>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
  assert.deepEqual(sorted(recorded), sorted(revisions), 'the journal has another tree')
  assert.equal(changes.stalled(uuid), null)
  return tree
}

/** Makes random changes until the object store fails. Returns the tree before the last call, and that call. */
async function changeUntilFailure(
  { files, store }: Running,
  round: Round,
  tree: Tree,
): Promise<{ readonly before: Tree; readonly last: Call | null }> {
  const { random, log } = round
  const armedAt = random.integer(5, 20)
  let before = tree
  for (let count = 0; count < armedAt + 30; count += 1) {
    if (count === armedAt) store.failAfter(random.integer(1, 100), random.chance(0.5))
    const call = count < armedAt / 2 ? randomWrite(random, before) : randomCall(random, before)
    const next = after(before, call)
    const failure = await perform(files, call).then(
      () => null,
      (error: unknown) => ({ error }),
    )
    log(`${JSON.stringify(call)} ${failure === null ? 'succeeded' : `failed: ${String(failure.error)}`}`)
    if (!store.isReachable && failure !== null) return { before, last: call }
    assert.equal(
      failure === null,
      next !== null,
      `${JSON.stringify(call)} is ${next ? 'possible' : 'impossible'}`,
    )
    assert.ok(failure === null || isNodekeepError(failure.error))
    before = next ?? before
  }
  return { before, last: null }
}

function foldersAbove(path: string): string[] {
  const segments = path.split('/').slice(1, -1)
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`)
}

async function play(dataFolder: string, round: Round): Promise<void> {
  const isAtRoot = round.random.chance(0.7)
  let before: Tree = new Map()
  let last: Call | null = null
  for (let count = 0; count <= starts; count += 1) {
    const node = await start(dataFolder, round, isAtRoot)
    try {
      const found = await readTree(node)
      if (last === null) assert.deepEqual(new Map([...found].sort()), new Map([...before].sort()))
      else checkHalfDone({ before, after: after(before, last) ?? before, found }, last)
      if (count === starts) return
      ;({ before, last } = await changeUntilFailure(node, round, found))
    } finally {
      await node.stop()
    }
  }
}

export default {
  name: 'On a storage without a step for folders that fails in the middle of a change, journal and files agree after a start, and no file is lost.',
  defaultRounds: 200,
  async round(round) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-folders-'))
    try {
      await play(dataFolder, round)
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
