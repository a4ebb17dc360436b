import { linkSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import tap, { type Test, test } from 'tap'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, receiveFile, sendFile } from './files-transfer.ts'

/** Mebibytes for all clients together, and what may be left of them when they have gone. */
const allowance = 100
const rest = 60

const skip = process.platform !== 'linux' && 'Only Linux tells the memory of a process in this way.'

tap.setTimeout(240_000)

/** Mebibytes that the node uses, without what V8 has not collected yet, which depends on the load of the machine. */
async function usedBy(node: FilesProcess, dataFolder: string): Promise<number> {
  const file = join(dataFolder, 'memory')
  await rm(file, { force: true })
  process.kill(node.pid, 'SIGUSR2')
  for (;;) {
    const bytes = await readFile(file, 'utf8').catch(() => null)
    if (bytes !== null) return Number(bytes) / 2 ** 20
    await delay(20)
  }
}

/** Asks for something, and reads nothing of the answer. */
async function ask(
  node: FilesProcess,
  path: string,
  { token } = node.session,
  accept = '*/*',
): Promise<Socket> {
  const socket = connect(Number(node.url.port), node.url.hostname)
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${node.url.host}\r\nauthorization: Bearer ${token}\r\naccept: ${accept}\r\n\r\n`,
  )
  await new Promise<void>((resolve, reject) => void socket.once('readable', resolve).once('error', reject))
  return socket
}

/** Starts a node that has been in use. */
async function startUsed(t: Test, users: number): Promise<FilesProcess & { readonly dataFolder: string }> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-unread-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const program = new URL('fixtures/memory-node.ts', import.meta.url)
  const environment = { FILES_USERS: String(users) }
  const node = await startFiles(dataFolder, undefined, { program, environment })
  t.teardown(() => node.kill())
  // More than the buffers of the system take.
  await sendFile(node, '/film', 64)
  await receiveFile(node, '/film')
  const { token } = node.session
  const headers = { authorization: `Bearer ${token}` }
  // V8 enlarges the memory for new objects of a node that serves.
  for (let i = 0; i < 50; i++) {
    const work = Array.from({ length: 50 }, () =>
      fetch(new URL('/api/files/list?path=/', node.url), { headers }),
    )
    await Promise.all(work.map(async (answer) => (await answer).text()))
  }
  return { ...node, dataFolder }
}

/** Tests what clients cost that do not read their answers, and what is left when they have gone. */
async function testCost(
  t: Test,
  node: Awaited<ReturnType<typeof startUsed>>,
  askAll: () => readonly Promise<Socket>[],
): Promise<void> {
  const [idle, idleUsed] = [await memoryOf(node.pid), await usedBy(node, node.dataFolder)]
  const sockets = await Promise.all(askAll())
  t.equal(sockets.length, 200)
  const found: number[] = []
  // The system takes some chunks of each answer before it lets the node wait.
  while (found.length < 10 || Math.max(...found.slice(-5)) > Math.max(...found.slice(0, -5)) + 1) {
    found.push((await usedBy(node, node.dataFolder)) - idleUsed)
  }
  const most = Math.max(...found)
  t.ok(most <= allowance, `they cost ${most.toFixed(0)} MiB`)

  for (const socket of sockets) socket.destroy()
  const until = performance.now() + 60_000
  let left = Number.POSITIVE_INFINITY
  while (left > rest && performance.now() < until) {
    await delay(100)
    left = (await memoryOf(node.pid)) - idle
  }
  t.ok(left <= rest, `${left.toFixed(0)} MiB are left`)
}

test('200 clients that do not read their answers cost at most 100 MiB, which go back when they leave', {
  skip,
}, async (t) => {
  const node = await startUsed(t, 1)
  await testCost(t, node, () => [
    ...Array.from({ length: 172 }, () => ask(node, '/read?path=/film')),
    ...Array.from({ length: 8 }, () => ask(node, '/api/files/archive?path=/')),
    ...Array.from({ length: 10 }, () => ask(node, '/api/files/list?path=/')),
    ...Array.from({ length: 10 }, () => ask(node, '/api/files/changes', node.session, 'text/event-stream')),
  ])
})

test('200 archives that 25 users do not read cost at most 100 MiB, which go back when they leave', {
  skip,
}, async (t) => {
  const node = await startUsed(t, 25)
  // Files as large as an archive holds ahead, and more of them than the buffers of the system take. Their long names
  // take as much memory as 10,000 usual ones. Links are made fast.
  for (const { uuid } of node.sessions) {
    const photos = join(node.dataFolder, 'files', uuid, 'photos')
    await mkdir(photos, { recursive: true })
    const file = join(photos, '0.jpg')
    await writeFile(file, '')
    await truncate(file, 500_000)
    for (let i = 1; i < 2000; i++) linkSync(file, join(photos, `${'a day at the lake '.repeat(13)}${i}.jpg`))
  }
  await testCost(t, node, () =>
    node.sessions.flatMap((session) =>
      Array.from({ length: 8 }, () => ask(node, '/api/files/archive?path=/photos', session)),
    ),
  )
})
