import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Round } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { type Canary, hostileFile, type Samples } from './hostile-contents.ts'

interface HostileRoundOptions {
  readonly files: number
  /** Milliseconds within which the node must tell its health meanwhile. It needs a machine without other work. */
  readonly slowestHealthMs: number
}

/** The work of a plugin, as `GET /api/previews/status` and `GET /api/search/status` have it. */
interface WorkStatus {
  readonly waiting: number
  readonly isComplete: boolean
  readonly failed: Readonly<Record<string, number>>
}

/** Folders with valid files, which the tests of the plugins have. */
const samples = ['previews/test/fixtures/files/', 'previews-heic/test/fixtures/'].map(
  (folder) => new URL(`../../plugins/${folder}`, import.meta.url),
)
const program = new URL('fixtures/hostile-node.ts', import.meta.url)
/** Most milliseconds for which the node may do only one thing. */
const longestTurnMs = 100
/** Of so many files, one has a preview that somebody asks for at once. */
const askedEvery = 5

/** Stores hostile files on a node, lets it make previews of them and search them, and checks that nothing but failures comes of them. */
export async function hostileRound(
  { random, log }: Round,
  { files, slowestHealthMs }: HostileRoundOptions,
): Promise<void> {
  await using outside = await watchOutside()
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-hostile-'))
  try {
    const node = await startFiles(dataFolder, undefined, { program })
    try {
      const known = await readSamples()
      // Before the health is measured: some take long to make.
      const made = Array.from({ length: files }, () => hostileFile(random, known, outside.canary))
      const work = async () => {
        for (const [number, { extension, bytes }] of made.entries()) {
          const path = `/${number % 7}/${number}.${extension}`
          await ask(node, `/write?path=${path}`, [200], { method: 'PUT', body: new Uint8Array(bytes) })
          if (number % askedEvery === 0) await askForPreview(node, path)
        }
        return [await untilDone(node, '/api/previews/status'), await untilDone(node, '/api/search/status')]
      }
      await ask(node, '/longest-turn', [200], { method: 'DELETE' })
      const { slowest, late, answers, done } = await healthWhile(node, work(), slowestHealthMs)
      const counts = Object.entries(Object.groupBy(made, ({ kind }) => kind)).map(
        ([kind, all]) => `${all?.length} ${kind}`,
      )
      log(`${files} files: ${counts.join(', ')}`)
      log(`failed: ${JSON.stringify(done.map(({ failed }) => failed))}`)
      const figures = `/health in at most ${slowest.toFixed(0)} ms; ${late} of ${answers} answers took longer than ${slowestHealthMs} ms`
      log(figures)
      const turn = await ask(node, '/longest-turn', [200])
      const { longestMs } = (await turn.json()) as { longestMs: number }
      log(`the node did only one thing for ${longestMs.toFixed(0)} ms of processor time`)
      assert.ok(longestMs <= longestTurnMs, `the node did only one thing for ${longestMs} ms`)
      const found = await ask(node, `/api/search?q=${outside.canary.word}`, [200])
      assert.deepEqual(((await found.json()) as { entries: unknown[] }).entries, [])
      await outside.check()
      assert.equal(late, 0, figures)
    } finally {
      await node.stop()
    }
  } finally {
    await rm(dataFolder, { recursive: true, force: true })
  }
}

async function readSamples(): Promise<Samples> {
  const read = samples.map(async (folder) => {
    const names = await readdir(folder)
    return Promise.all(
      names.map(async (name) => ({
        extension: extname(name).slice(1),
        bytes: await readFile(new URL(name, folder)),
      })),
    )
  })
  return (await Promise.all(read)).flat()
}

/** Makes what hostile files point at: a file, and a server to which nobody must connect. */
async function watchOutside() {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-outside-'))
  await mkdir(join(folder, 'empty'))
  const word = 'hiddencanary'
  const file = join(folder, 'secret.txt')
  await writeFile(file, word)
  let connections = 0
  const server = createServer((_, response) => response.end(word)).listen(0, '127.0.0.1')
  server.on('connection', () => {
    connections += 1
  })
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const seen = async () => [
    await readdir('/'),
    await readdir(folder, { recursive: true }),
    (await stat(file)).mtimeMs,
  ]
  const before = await seen()
  return {
    canary: { url, file, word } satisfies Canary,
    async check() {
      assert.equal(connections, 0, 'a decoder has connected to a server')
      assert.deepEqual(await seen(), before, 'something outside has changed')
    },
    async [Symbol.asyncDispose]() {
      server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function ask(
  node: FilesProcess,
  path: string,
  expected: readonly number[],
  init: RequestInit = {},
): Promise<Response> {
  const headers = { authorization: `Bearer ${node.session.token}` }
  const answer = await fetch(new URL(path, node.url), { ...init, headers })
  assert.ok(expected.includes(answer.status), `${path}: ${answer.status}`)
  return answer
}

async function askForPreview(node: FilesProcess, path: string): Promise<void> {
  const answer = await ask(node, `/api/previews?path=${path}&size=small`, [200, 422, 503])
  const type = answer.status === 200 ? 'image/webp' : 'application/json'
  assert.ok(answer.headers.get('content-type')?.startsWith(type), path)
  await answer.arrayBuffer()
}

/** Waits until a plugin has looked at all files. */
async function untilDone(node: FilesProcess, path: string): Promise<WorkStatus> {
  for (;;) {
    const status = (await (await ask(node, path, [200])).json()) as WorkStatus
    if (status.isComplete && status.waiting === 0) return status
    await delay(50)
  }
}

/** Asks for the health of a node again and again until some work is done. */
async function healthWhile<T>(node: FilesProcess, work: Promise<T>, slowestMs: number) {
  let isDone = false
  const finished = work.finally(() => {
    isDone = true
  })
  // It is awaited at the end, also if the node does not tell its health.
  finished.catch(() => {})
  const times: number[] = []
  while (!isDone) {
    const begun = performance.now()
    const answer = await fetch(new URL('/health', node.url))
    await answer.arrayBuffer()
    assert.equal(answer.status, 200)
    times.push(performance.now() - begun)
    await delay(20)
  }
  return {
    slowest: Math.max(0, ...times),
    late: times.filter((ms) => ms > slowestMs).length,
    answers: times.length,
    done: await finished,
  }
}
