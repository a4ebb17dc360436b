import assert from 'node:assert/strict'
import { linkSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type FilesProcess, type Session, startFiles } from './files-process.ts'
import { memoryOf, receiveFile, sendFile } from './files-transfer.ts'

/** A node that tells the memory that is in use. */
export interface UnreadNode extends FilesProcess {
  readonly dataFolder: string
  /** Kills the node, and removes its data. */
  end(): Promise<void>
}

/** Starts a node with a file `/film`, which is larger than the buffers of the system. */
export async function startUnread(users: number): Promise<UnreadNode> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-unread-'))
  const program = new URL('fixtures/memory-node.ts', import.meta.url)
  const environment = { FILES_USERS: String(users) }
  const node = await startFiles(dataFolder, undefined, { program, environment })
  await sendFile(node, '/film', 64)
  const end = async () => {
    await node.kill()
    await rm(dataFolder, { recursive: true, force: true })
  }
  return { ...node, dataFolder, end }
}

/** Mebibytes that a node uses, without what V8 has not collected yet, which depends on the load of the machine. */
export async function usedBy({ pid, dataFolder }: UnreadNode): Promise<number> {
  const file = join(dataFolder, 'memory')
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    const bytes = await readFile(file, 'utf8').catch(() => null)
    if (bytes !== null) return Number(bytes) / 2 ** 20
    await delay(20)
  }
}

/** Sends a request, and reads nothing of the answer. */
function ask(
  node: FilesProcess,
  path: string,
  { session = node.session, accept = '*/*' }: { readonly session?: Session; readonly accept?: string } = {},
): Socket {
  const socket = connect(Number(node.url.port), node.url.hostname)
  socket.on('error', () => {})
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${node.url.host}\r\nauthorization: Bearer ${session.token}\r\naccept: ${accept}\r\n\r\n`,
  )
  return socket
}

/** Requests of each kind of answers, none of which is read. Of ten, eight or more are for a file. */
export function askForAll(node: FilesProcess, clients: number): readonly Socket[] {
  const few = Math.ceil(clients / 25)
  const times = (count: number, asked: () => Socket) => Array.from({ length: count }, asked)
  return [
    ...times(clients - 3 * few, () => ask(node, '/read?path=/film')),
    ...times(few, () => ask(node, '/api/files/archive?path=/')),
    ...times(few, () => ask(node, '/api/files/list?path=/')),
    ...times(few, () => ask(node, '/api/files/changes', { accept: 'text/event-stream' })),
  ]
}

/** Requests of eight archives of a folder for each user, none of which is read. */
export function askForArchives(node: FilesProcess, path: string): readonly Socket[] {
  const times = Array.from({ length: 8 })
  return node.sessions.flatMap((session) =>
    times.map(() => ask(node, `/api/files/archive?path=${path}`, { session })),
  )
}

/**
 * Makes a folder `photos` for each user: 2,000 files as large as an archive holds ahead, and more of them than the buffers of the system
 * take. Their long names take as much memory as 10,000 usual ones.
 */
export async function makePhotos(node: UnreadNode): Promise<void> {
  for (const { uuid } of node.sessions) {
    const folder = join(node.dataFolder, 'files', uuid, 'photos')
    await makeLinks(folder, { bytes: 500_000, names: 2000, name: 'a day at the lake '.repeat(13) })
  }
}

/** Makes a folder `deep` for each user: 1,000 empty files with the longest paths, which take as much memory as 8,000 usual ones. */
export async function makeDeepFiles(node: UnreadNode): Promise<void> {
  for (const { uuid } of node.sessions) {
    const user = join(node.dataFolder, 'files', uuid)
    const folder = join(user, 'deep', ...Array.from({ length: 14 }, () => 'd'.repeat(240)))
    await makeLinks(folder, { bytes: 0, names: 1000, name: '' })
  }
}

/** Makes files by links, which is fast. */
async function makeLinks(
  folder: string,
  { bytes, names, name }: { readonly bytes: number; readonly names: number; readonly name: string },
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, '0.jpg')
  await writeFile(file, '')
  await truncate(file, bytes)
  for (let i = 1; i < names; i++) linkSync(file, join(folder, `${name}${i}.jpg`))
}

/** Returns the mebibytes in use above `idle` when the answers have taken all that they take. */
export async function costAbove(idle: number, node: UnreadNode, sockets: readonly Socket[]): Promise<number> {
  await Promise.all(sockets.map(answered))
  const found: number[] = []
  // The system takes some chunks of each answer before it lets the node wait.
  while (found.length < 10 || Math.max(...found.slice(-5)) > Math.max(...found.slice(0, -5)) + 1) {
    found.push((await usedBy(node)) - idle)
  }
  return Math.max(...found)
}

async function answered(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('readable', resolve).once('close', () => reject(new Error('An answer ended.')))
  await promise
}

/** Lets a node work, so that V8 enlarges the memory for new objects. Returns the mebibytes that it takes from the system then. */
export async function warmUp(node: UnreadNode, rounds = 50): Promise<number> {
  await receiveFile(node, '/film')
  const headers = { authorization: `Bearer ${node.session.token}` }
  for (let i = 0; i < rounds; i++) {
    const work = Array.from({ length: 50 }, () =>
      fetch(new URL('/api/files/list?path=/', node.url), { headers }),
    )
    await Promise.all(work.map(async (answer) => (await answer).text()))
  }
  return memoryOf(node.pid)
}

/** Waits until a node has given memory back to the system, up to some mebibytes. */
export async function expectBack(node: UnreadNode, idle: number, rest: number): Promise<void> {
  const until = performance.now() + 60_000
  let left = Number.POSITIVE_INFINITY
  while (left > rest && performance.now() < until) {
    await delay(100)
    left = (await memoryOf(node.pid)) - idle
  }
  assert.ok(left <= rest, `${left.toFixed(0)} MiB are left`)
}
