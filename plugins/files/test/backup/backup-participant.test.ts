import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import type { BackupEntry, BackupSnapshot } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type CapturedServices, captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, journalOf, post, put } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

const never = new AbortController().signal

async function startNode(t: Test, mounts: Record<string, string>, plugins: Record<string, unknown> = {}) {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts },
    {
      plugins: [services.plugin, shaky.plugin],
      config: { plugins: { disk2: { from: 'storage-local' }, ...plugins }, disk2: { root: 'second-disk' } },
    },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn('owner')
  return { services, shaky, node, ada, home: join(node.dataFolder, 'files', ada.user.uuid) }
}

async function snapshotOf(
  { participants }: CapturedServices,
  whileHalted?: () => Promise<void>,
): Promise<BackupSnapshot> {
  return takeSnapshot(await participants.get('files')?.prepare(never), whileHalted)
}

/** The entries by path, with the texts of files and null for folders. */
async function contentsOf(snapshot: BackupSnapshot): Promise<Record<string, string | null>> {
  const contents: Record<string, string | null> = {}
  for await (const entry of snapshot.entries())
    contents[entry.path] = entry.type === 'file' ? await text(entry.open()) : null
  return contents
}

t.test('the files of all users on all mounts are in a backup, in one order, with their dates', async (t) => {
  const { services, node, ada } = await startNode(t, { '/cold': 'memory' })
  const bob = await node.signIn('user')
  for (const path of ['/b', '/a/c', '/a.txt', '/cold/deep/er/x']) await put(ada, path, path)
  await put(ada, '/b', 'overwritten', { 'x-oc-mtime': '981173106' })
  await put(bob, '/empty', '')
  await post(ada, 'mkdir', { path: '/nothing/in/here' })
  const snapshot = await snapshotOf(services)
  await put(ada, '/b', 'later')
  await post(ada, 'delete', { path: '/a' })
  const [one, two] = [ada.user.uuid, bob.user.uuid]
  const ofOne = {
    [`local/${one}`]: null,
    [`local/${one}/a`]: null,
    [`local/${one}/a.txt`]: '/a.txt',
    [`local/${one}/b`]: 'overwritten',
    [`local/${one}/nothing`]: null,
    [`local/${one}/a/c`]: '/a/c',
    [`local/${one}/nothing/in`]: null,
    [`local/${one}/nothing/in/here`]: null,
  }
  const ofTwo = { [`local/${two}`]: null, [`local/${two}/empty`]: '' }
  const cold = `memory/${one}`
  const contents = await contentsOf(snapshot)
  t.strictSame(Object.entries(contents), [
    ...Object.entries(one < two ? { ...ofOne, ...ofTwo } : { ...ofTwo, ...ofOne }),
    ...Object.entries({
      [cold]: null,
      [`${cold}/deep`]: null,
      [`${cold}/deep/er`]: null,
      [`${cold}/deep/er/x`]: '/cold/deep/er/x',
    }),
  ])
  t.strictSame(await snapshot.omitted(), [
    { what: 'local/kept', why: 'The trash and former versions of files are left out.' },
  ])
  t.strictSame(snapshot.changed, [])
  const entries = new Map<string, BackupEntry>()
  for await (const entry of snapshot.entries()) entries.set(entry.path, entry)
  t.strictSame([...entries.keys()], Object.keys(contents), 'the order is the same each time')
  t.match(entries.get(`local/${one}/b`), { size: 11, modified: new Date(981173106000) })
  const { created } = await services.files.for(ada.user).stat('/b')
  t.strictSame(entries.get(`local/${one}/b`)?.created, created)
  await snapshot.release()
  await snapshot.release()
})

t.test('backends that are not mounted, not loaded or without snapshots are left out', async (t) => {
  const { services, ada, node, shaky } = await startNode(t, { '/shaky': 'shaky', '/gone': 'not-loaded' })
  await put(ada, '/file', 'x')
  await put(ada, '/shaky/file', 'x')
  await services.backends.get('disk2')?.makeDirectory(`/${ada.user.uuid}`)
  const files = join(node.dataFolder, 'files')
  symlinkSync('nowhere', join(files, ada.user.uuid, 'link'))
  writeFileSync(join(files, 'notes'), 'of the operator')
  t.ok(shaky.isReachable)
  const snapshot = await snapshotOf(services)
  t.strictSame(Object.keys(await contentsOf(snapshot)), [
    `local/${ada.user.uuid}`,
    `local/${ada.user.uuid}/file`,
  ])
  const omitted = new Map((await snapshot.omitted()).map(({ what, why }) => [what, why]))
  t.strictSame(Object.keys(snapshot.folders ?? {}), ['local'])
  t.strictSame(
    snapshot.mounts,
    { '/': 'local', '/shaky': 'shaky', '/gone': 'not-loaded' },
    'users see them all the same',
  )
  t.strictSame([...omitted].sort(), [
    [`local/${ada.user.uuid}/link`, 'It is a symbolic link.'],
    ['local/notes', 'It belongs to no user.'],
    ['not-loaded', 'No plugin provides this storage backend.'],
    ['shaky', 'This storage backend cannot make snapshots.'],
  ])
  await snapshot.release()
})

t.test('changes wait during a halt, on all mounts, and go on afterwards', async (t) => {
  const { services, ada } = await startNode(t, { '/cold': 'memory' })
  await put(ada, '/cold/file', 'old')
  await put(ada, '/file', 'old')
  const done: string[] = []
  let changes: Promise<unknown> = Promise.resolve()
  const snapshot = await snapshotOf(services, async () => {
    const files = services.files.for(ada.user)
    const change = async (path: string) => {
      await files.write(
        path,
        (async function* () {
          yield Buffer.from('new')
        })(),
      )
      done.push(path)
    }
    changes = Promise.all(['/file', '/cold/file'].map(change))
    for (let turn = 0; turn < 50; turn += 1) await files.stat('/file').then(() => setImmediate())
    t.strictSame(done, [])
  })
  await changes
  const contents = await contentsOf(snapshot)
  t.equal(contents[`local/${ada.user.uuid}/file`], 'old')
  t.equal(contents[`memory/${ada.user.uuid}/file`], 'old')
  await snapshot.release()
  await t.rejects(
    snapshotOf(services, () => Promise.reject(new Error('another part failed'))),
    { message: 'another part failed' },
  )
  t.equal((await put(ada, '/file', 'again')).status, 200)
})

t.test('a file that moves across mounts meanwhile is in every backup once', async (t) => {
  const { services, ada } = await startNode(t, { '/cold': 'memory' })
  const names = Array.from({ length: 6 }, (_, index) => `${index}`)
  for (const name of names) await put(ada, `/folder/${name}`, name)
  let running = true
  const moving = (async () => {
    const files = services.files.for(ada.user)
    for (let round = 0; running; round += 1) {
      const paths = ['/folder', '/cold/folder'] as const
      await files.move(paths[round % 2] as string, paths[(round + 1) % 2] as string)
    }
  })()
  try {
    for (let count = 0; count < 30; count += 1) {
      const snapshot = await snapshotOf(services)
      const contents = await contentsOf(snapshot)
      const found = Object.entries(contents).filter(([, content]) => content !== null)
      t.strictSame(found.map(([, content]) => content).sort(), names)
      t.notOk(Object.keys(contents).some((path) => path.includes('.moving-')))
      await snapshot.release()
    }
  } finally {
    running = false
    await moving
  }
})

t.test('a prepared backup that is given up or aborted holds no move up', async (t) => {
  const { services, ada } = await startNode(t, { '/cold': 'memory' })
  await put(ada, '/file', 'x')
  const files = services.files.for(ada.user)
  const participant = services.participants.get('files')
  const prepared = await participant?.prepare(never)
  const moving = files.move('/file', '/cold/file')
  await prepared?.release()
  await moving
  const controller = new AbortController()
  const aborted = await participant?.prepare(controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(async () => aborted?.halt(), { message: 'enough' })
  await aborted?.release()
  await files.move('/cold/file', '/file')
  t.equal(await (await get(ada, 'read', '/file')).text(), 'x')
})

t.test('a backup that is still read keeps nothing of an erased user in the journal', async (t) => {
  const { services, node, ada } = await startNode(t, {})
  await put(ada, '/ledger of ada', 'x')
  await put(ada, '/ledger of ada', 'y')
  const snapshot = await snapshotOf(services)
  await services.userData.get('files')?.erase(ada.user.uuid, new AbortController().signal)
  const journal = journalOf(node.dataFolder)
  const traces = () => ['', '-wal'].some((suffix) => readFileSync(journal + suffix).includes('ledger of ada'))
  while (traces()) await delay(20)
  t.match(await contentsOf(snapshot), { [`local/${ada.user.uuid}/ledger of ada`]: 'y' })
  await snapshot.release()
})

t.test('a file that another program changes in place fills its size, and is told', async (t) => {
  const { services, ada, home } = await startNode(t, {})
  for (const name of ['cut', 'grown', 'same']) await put(ada, `/${name}`, 'a'.repeat(200_000))
  const snapshot = await snapshotOf(services)
  const entries: BackupEntry[] = []
  for await (const entry of snapshot.entries()) if (entry.type === 'file') entries.push(entry)
  truncateSync(join(home, 'cut'), 5)
  appendFileSync(join(home, 'grown'), 'b'.repeat(200_000))
  for (const entry of entries) {
    const bytes = await buffer(entry.open())
    t.equal(bytes.length, entry.size)
    t.equal(bytes.lastIndexOf('a'), entry.path.endsWith('cut') ? 4 : 199_999)
  }
  t.strictSame([...snapshot.changed].sort(), [`local/${ada.user.uuid}/cut`, `local/${ada.user.uuid}/grown`])
  await snapshot.release()
  const second = await snapshotOf(services)
  const moment = Date.now()
  // Setting a time may round it down by a millisecond.
  while (Date.now() <= moment + 2) await setImmediate()
  appendFileSync(join(home, 'same'), 'after the moment, before it is listed')
  // The system's own times may be some milliseconds behind.
  utimesSync(join(home, 'same'), new Date(), new Date())
  await contentsOf(second)
  t.strictSame(second.changed, [`local/${ada.user.uuid}/same`])
  await second.release()
})

t.test('a backend that is not mounted keeps to itself, and the node is healthy', async (t) => {
  const { services, ada, node } = await startNode(t, {})
  const disk = services.backends.get('disk2')
  await disk?.write(
    '/backup.tar.gz',
    (async function* () {
      yield Buffer.from('an archive')
    })(),
  )
  t.equal(disk?.plainFolder, join(node.dataFolder, 'second-disk'))
  t.ok(existsSync(join(node.dataFolder, 'second-disk', 'backup.tar.gz')))
  const names = (await (await get(ada, 'readdir', '/')).json()) as unknown[]
  t.strictSame(names, [])
  const health = await node.fetch('/health')
  t.equal(health.status, 200)
  t.match(await health.json(), { status: 'ok' })
  mkdirSync(join(node.dataFolder, 'second-disk', ada.user.uuid), { recursive: true })
  await services.userData.get('files')?.erase(ada.user.uuid, never)
  t.ok(existsSync(join(node.dataFolder, 'second-disk', ada.user.uuid)))
})
