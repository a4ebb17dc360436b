import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import type { ChangeLog, StorageBackend } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type CapturedServices, captureServices } from './fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from './fixtures/files-node.ts'
import { untilEmpty } from './fixtures/leftovers.ts'
import { type Expected, Model } from './fixtures/model.ts'
import { multipart } from './fixtures/multipart.ts'
import { objectBackend } from './fixtures/object-backend.ts'
import { type Operation, operation } from './fixtures/operations.ts'
import { replay } from './fixtures/replay.ts'

/** Fixed sequences, unless the environment sets another seed or number. */
const seed = Number(process.env.TEST_SEED ?? 4200)
const numRuns = Number(process.env.TEST_RUNS ?? 20)

t.test('the API behaves like a map of paths, and the journal and the disk agree', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  await playSequences(node, services, numRuns)
  const root = join(node.dataFolder, 'files')
  const folders = await readdir(root)
  t.notOk(
    folders.find((name) => !/^[0-9a-f-]{36}$/.test(name) && name !== '.nodekeep'),
    'no entry is outside the folders of users',
  )
  // Removed folders are emptied in the background.
  t.strictSame(await untilEmpty(() => filesIn(join(root, '.nodekeep'))), [], 'no temporary file exists')
})

for (const moves of [true, false]) {
  const files = moves ? 'moves single files only' : 'moves nothing'
  t.test(`the API, the journal and the disk agree on a storage that ${files} in one step`, async (t) => {
    const services = captureServices()
    const { plugin } = objectBackend({ moves, copies: !moves })
    const node = await createFilesNode({ mounts: { '/': 'objects' } }, { plugins: [services.plugin, plugin] })
    t.teardown(() => node.stop())
    await playSequences(node, services, Math.ceil(numRuns / 4))
  })
}

t.test('the API, the journal and the storage agree on a storage of blocks', async (t) => {
  const services = captureServices()
  const config = { plugins: { ipfs: true } }
  const node = await createFilesNode({ mounts: { '/': 'ipfs' } }, { config, plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const stored = (user: TestUser) => storedIn(services.backends.get('ipfs') as StorageBackend, user)
  await playSequences(node, services, Math.ceil(numRuns / 4), stored)
})

/** Plays random calls for users of their own, and compares the answers, the disk and the journal with a map of paths. */
async function playSequences(
  node: TestNode,
  services: CapturedServices,
  numRuns: number,
  stored = (user: TestUser) => storedOnDisk(node, user),
): Promise<void> {
  const sequence = fc.asyncProperty(
    fc.array(operation, { minLength: 10, maxLength: 60 }),
    async (operations) => {
      const user = await node.signIn()
      const model = new Model()
      for (const step of operations) await check(user, model, step)
      compareStored(await stored(user), model)
      await compareJournal(services.changes, user, model)
    },
  )
  await fc.assert(sequence, { numRuns, seed })
}

/** The names of files in a folder, at any depth, without the lock of the storage. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && entry.name !== 'lock').map((entry) => entry.name)
}

async function check(user: TestUser, model: Model, step: Operation): Promise<void> {
  const answer = await perform(user, step)
  const expected = ask(model, step)
  const said = JSON.stringify(step)
  if (expected.status !== 0 && answer.status !== expected.status) {
    throw new Error(`${said}: ${answer.status} instead of ${expected.status}: ${await answer.text()}`)
  }
  await compareAnswer(answer, expected, said)
}

async function compareAnswer(answer: Response, expected: Expected, said: string): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer())
  const same = (seen: unknown, wanted: unknown) => {
    if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
      throw new Error(`${said}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`)
    }
  }
  if (expected.code !== undefined) {
    const { error, code } = JSON.parse(body.toString())
    same([error, [expected.code].flat().includes(code)], [true, true])
  }
  if (expected.path !== undefined) same(JSON.parse(body.toString()).path, expected.path)
  if (expected.bytes !== undefined) same([...body], [...expected.bytes])
  if (expected.names !== undefined) {
    same(
      JSON.parse(body.toString()).map(({ name }: { name: string }) => name),
      expected.names,
    )
  }
}

async function perform(user: TestUser, step: Operation): Promise<Response> {
  switch (step.kind) {
    case 'read':
    case 'stat':
      return get(user, step.kind, step.path)
    case 'list':
      return get(user, 'readdir', step.path)
    case 'mkdir':
      return post(user, 'mkdir', { path: step.path })
    case 'remove':
      return post(user, 'delete', { path: step.path })
    case 'move': {
      const { source, destination, overwrite } = step
      return post(user, 'move', { source, destination, ...(overwrite && { overwrite }) })
    }
    case 'write':
      return write(user, step)
  }
}

async function write(user: TestUser, step: Operation & { kind: 'write' }): Promise<Response> {
  const { path, bytes, by, condition } = step
  const headers = await conditionHeaders(user, path, condition)
  if (by === 'put') return put(user, path, bytes as Uint8Array<ArrayBuffer>, headers)
  const parts = [
    { name: 'path', content: path },
    { name: 'file', content: bytes, filename: 'name' },
  ]
  const form = multipart(by === 'form' ? parts : parts.toReversed())
  const type = { 'content-type': form.contentType }
  return user.fetch('/write', { method: 'POST', body: form.body, headers: { ...headers, ...type } })
}

async function conditionHeaders(
  user: TestUser,
  path: string,
  condition: string,
): Promise<Record<string, string>> {
  if (condition === 'none') return {}
  if (condition === 'absent') return { 'if-none-match': '*' }
  if (condition === 'stale') return { 'if-match': '"of-another-time"' }
  const { headers } = await get(user, 'read', path, { method: 'HEAD' })
  return { 'if-match': headers.get('etag') ?? '"none"' }
}

function ask(model: Model, step: Operation): Expected {
  switch (step.kind) {
    case 'write':
      return model.write(step.path, step.bytes, step.condition)
    case 'move':
      return model.move(step.source, step.destination, step.overwrite)
    default:
      return model[step.kind](step.path)
  }
}

/** The content of each file by its path; null for folders. */
type Stored = ReadonlyMap<string, Buffer | null>

async function storedOnDisk(node: TestNode, { user }: TestUser): Promise<Stored> {
  const root = join(node.dataFolder, 'files', user.uuid)
  const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  const entries = found.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    return [path.slice(root.length), entry.isDirectory() ? null : await readFile(path)] as const
  })
  return new Map(await Promise.all(entries))
}

async function storedIn(backend: StorageBackend, { user }: TestUser): Promise<Stored> {
  const root = `/${user.uuid}`
  const found = new Map<string, Buffer | null>()
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, type } of backend.list(folder)) {
      const path = `${folder}/${name}`
      if (type === 'directory') folders.push(path)
      const bytes = type === 'directory' ? null : await buffer((await backend.read(path)).content)
      found.set(path.slice(root.length), bytes)
    }
  }
  return found
}

function compareStored(found: Stored, model: Model): void {
  const paths = [...found.keys()].sort()
  const wanted = [...model.nodes.keys()].filter((path) => path !== '/').sort()
  if (JSON.stringify(paths) !== JSON.stringify(wanted)) {
    throw new Error(`the storage has ${JSON.stringify(paths)}, the model ${JSON.stringify(wanted)}`)
  }
  for (const [path, node] of model.nodes) {
    if (node === 'folder') continue
    if (!found.get(path)?.equals(node)) throw new Error(`${path} has other bytes`)
  }
}

async function compareJournal(changes: ChangeLog, { user }: TestUser, model: Model): Promise<void> {
  const log = await changes.read(user.uuid, { epoch: changes.epoch, seq: 0, id: '' }, 10_000)
  const sizes = [...model.nodes].map(([path, node]) => [path, node === 'folder' ? null : node.length])
  const recorded = JSON.stringify([...replay(log)].sort())
  if (recorded !== JSON.stringify(sizes.sort())) throw new Error(`the journal has ${recorded}`)
}
