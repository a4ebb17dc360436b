import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { concurrently } from '@nodekeep/plugin-sdk'
import type { Fault, Round } from './fault.ts'
import { checkAgreement, checkHalfDone, type Disk, matches, settled } from './files-check.ts'
import { bytesOf, FilesClient } from './files-client.ts'
import { type FilesProcess, type Session, startFiles } from './files-process.ts'
import { parentsOf, print, type Tree } from './files-tree.ts'
import { needsS3Server, S3, type S3Server, s3Server } from './fixtures/storage-server.ts'
import { type Random, randomOf } from './random.ts'

const clientCount = 4

/** Files above 8 MiB are stored in parts. */
const largestFile = 20_000_000

const bucket = 'files'

/** A round's S3 server, and the way of its nodes to it. */
interface Stand {
  readonly server: S3Server
  readonly s3: S3
  /** @param hoursAhead hours by which the clock of the node is ahead */
  start(session?: Session, hoursAhead?: number): Promise<FilesProcess>
}

/** Lets clients change files, kills the node meanwhile, and starts it again. */
async function killNode(
  node: FilesProcess,
  clients: readonly FilesClient[],
  { start }: Stand,
  { random }: Round,
): Promise<FilesProcess> {
  const running = Promise.all(clients.map((client) => client.run(node)))
  // The failure of one client must not be unhandled while the others are awaited.
  running.catch(() => {})
  await Promise.race([amidChanges(clients, random), running])
  await node.kill()
  await running
  return start(node.session)
}

/**
 * Lets clients change files, kills the S3 server meanwhile, and starts it again. Clients whose change fails end. The node goes on, or is
 * killed too: it asks the storage for the changes without an answer after half a minute, or when it starts.
 */
async function killServer(
  node: FilesProcess,
  clients: readonly FilesClient[],
  { server, start }: Stand,
  { random }: Round,
): Promise<FilesProcess> {
  const control = new AbortController()
  const running = Promise.all(clients.map((client) => client.run(node, control.signal)))
  running.catch(() => {})
  await Promise.race([amidChanges(clients, random), running])
  await server.kill()
  await delay(random.integer(0, 2000))
  await server.start()
  await delay(random.integer(0, 1000))
  control.abort()
  await running
  if (random.chance(0.2)) return node
  await node.kill()
  return start(node.session)
}

/** Waits until clients got answers to some changes, and then for a moment in the middle of others. */
async function amidChanges(clients: readonly FilesClient[], random: Random): Promise<void> {
  const wanted = random.integer(0, 60)
  while (answeredBy(clients) < wanted) await delay(5)
  await delay(random.integer(0, 300))
}

function answeredBy(clients: readonly FilesClient[]): number {
  return clients.reduce((sum, { answered }) => sum + answered, 0)
}

/** Returns the user's files in the bucket, as any S3 program sees them. */
async function readBucket(s3: S3, { uuid }: Session): Promise<Disk> {
  const keys: string[] = []
  for (let next: string | undefined, isLast = false; !isLast; ) {
    const page = await s3.listObjectsV2({ Bucket: bucket, ...(next && { ContinuationToken: next }) })
    keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key))
    next = page.NextContinuationToken
    isLast = !page.IsTruncated
  }
  const found = new Map<string, Buffer | null>()
  await concurrently(keys, 8, async (key) => {
    // The node's own objects, and contents that can be put back.
    if (key.startsWith('.nodekeep/') || key.startsWith('kept/')) return
    assert.ok(key.startsWith(`${uuid}/`), `${key} belongs to nobody`)
    const path = key.slice(uuid.length)
    for (const parent of parentsOf(path)) found.set(parent, null)
    if (path.endsWith('/')) return
    const { Body } = await s3.getObject({ Bucket: bucket, Key: key })
    found.set(path, Buffer.from((await Body?.transformToByteArray()) ?? []))
  })
  return found
}

/**
 * Returns the folders that the server lists although there is no key in them. If a gateway of Ceph is killed while it stores or removes a key,
 * the next one hides the key, but lists its folder for two minutes.
 */
async function foldersWithoutKeys(s3: S3, { uuid }: Session, disk: Disk): Promise<string[]> {
  const withoutKeys: string[] = []
  const folders = ['/']
  for (const folder of folders) {
    const page = await s3.listObjectsV2({ Bucket: bucket, Prefix: `${uuid}${folder}`, Delimiter: '/' })
    for (const { Prefix = '' } of page.CommonPrefixes ?? []) {
      const path = Prefix.slice(uuid.length)
      if (disk.has(path.slice(0, -1))) {
        folders.push(path)
        continue
      }
      const { Contents = [] } = await s3.listObjectsV2({ Bucket: bucket, Prefix })
      assert.deepEqual(Contents, [], `${path} has keys that the whole listing has not`)
      withoutKeys.push(path.slice(0, -1))
    }
  }
  return withoutKeys
}

/** Checks that every answered change is complete, and nothing is lost of the other ones. */
async function check(
  node: FilesProcess,
  clients: readonly FilesClient[],
  { s3 }: Stand,
  round: Round,
  wasServerKilled: boolean,
): Promise<void> {
  await settled(node, round.signal)
  const disk = await readBucket(s3, node.session)
  for (const [index, client] of clients.entries()) {
    const folder = `/c${index}`
    if (client.allowed.some((tree) => matches(disk, tree, folder))) continue
    const { tree, unanswered } = client
    round.log(`${folder} has ${[...disk.keys()].filter((path) => path.startsWith(folder))}`)
    round.log(`answered: ${print(tree)}`)
    round.log(`unanswered: ${JSON.stringify(unanswered?.change)}`)
    assert.ok(unanswered !== null, `${folder} has other files than were stored`)
    const found = [...disk].filter(([path]) => path.startsWith(`${folder}/`))
    const trees = {
      before: hashed([...tree].filter(([path]) => path !== folder)),
      after: hashed([...unanswered.tree].filter(([path]) => path !== folder)),
      found: new Map(found.map(([path, bytes]) => [path, bytes && hashOf(bytes)])),
    }
    checkHalfDone(trees, unanswered.change)
  }
  const leftovers = clients.flatMap((client) => client.leftoverParents)
  const withoutKeys = wasServerKilled ? await foldersWithoutKeys(s3, node.session, disk) : []
  await checkAgreement(node, disk, leftovers, withoutKeys)
}

function hashed(tree: readonly (readonly [string, string | null])[]): Tree {
  return new Map(
    tree.map(([path, content]) => [path, content === null ? null : hashOf(bytesOf(content))] as const),
  )
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Checks that a node removes the unfinished uploads of the round when they are a week old. */
async function checkUploads({ start, s3 }: Stand, { log, signal }: Round): Promise<void> {
  const unfinished = async () => (await s3.listMultipartUploads({ Bucket: bucket })).Uploads ?? []
  const count = (await unfinished()).length
  log(`${count} uploads were unfinished`)
  if (count === 0) return
  // The session of the round has expired by then.
  const node = await start(undefined, 7 * 24 + 1)
  try {
    // A node that does not use its storage leaves it alone.
    const headers = { authorization: `Bearer ${node.session.token}` }
    const { status } = await fetch(new URL('/stat?path=/', node.url), { headers, signal })
    assert.equal(status, 200)
    while ((await unfinished()).length > 0) await delay(50, undefined, { signal })
  } finally {
    await node.kill()
  }
}

async function play(dataFolder: string, server: S3Server, round: Round): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const credentials = { accessKeyId, secretAccessKey }
  // The library adds to the object that it gets.
  const s3 = new S3({ endpoint, region, credentials: { ...credentials }, forcePathStyle: true })
  await s3.createBucket({ Bucket: bucket })
  const environment = { FILES_S3: JSON.stringify({ endpoint, region, bucket, ...credentials }) }
  const stand: Stand = {
    server,
    s3,
    start: (session, hoursAhead) =>
      startFiles(dataFolder, session, {
        environment: { ...environment, ...(hoursAhead && { FILES_CLOCK: `${hoursAhead}` }) },
      }),
  }
  const clients = Array.from(
    { length: clientCount },
    (_, index) => new FilesClient(`/c${index}`, randomOf(round.seed * clientCount + index), largestFile),
  )
  const kill = round.seed % 2 === 0 ? killNode : killServer
  let node = await stand.start()
  try {
    node = await kill(node, clients, stand, round)
    round.log(
      `${kill.name}: ${clients.reduce((sum, { answered }) => sum + answered, 0)} changes were answered`,
    )
    await check(node, clients, stand, round, kill === killServer)
    await node.stop()
    await checkUploads(stand, round)
  } finally {
    await node.kill()
    s3.destroy()
  }
}

export default {
  name: 'With all files on S3, after a kill of the node or of the S3 server, every answered change is complete, no file is lost, and the journal agrees.',
  missing: needsS3Server,
  defaultRounds: 60,
  async round(round) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-storage-kills-'))
    const server = await s3Server()
    try {
      await play(dataFolder, server, round)
    } finally {
      await server.stop()
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
