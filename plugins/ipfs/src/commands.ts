import { createWriteStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { answerOf, defineCommands, messageOf, type NodeClient, runningNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { publishInTime } from './publish-in-time.ts'

type List = NodeAnswers['GET /api/ipfs/publications']
type Verified = NodeAnswers['GET /api/ipfs/verify']
type Result = NonNullable<Verified['last']>

/** How often progress is asked for, in milliseconds. */
const pollMs = 500

/** Milliseconds after which a call that waits is made again. */
const callMs = 240_000

/** The commands `nodekeep ipfs …`. They ask the running node, as its owner. */
export default defineCommands({
  async publish(context) {
    const { args, output, signal } = context
    const [path = ''] = args
    const node = await runningNode(context)
    const line = output.progress('Publishing')
    const end = new AbortController()
    const following = follow(node, path, end.signal, (bytes) =>
      line.update(0, `${(bytes / 1e6).toFixed(1)} MB are read`),
    )
    try {
      const { id, cid, size, files, url } = await publishInTime(node, path, { signal, callMs })
      line.end()
      output.state({ id, cid, bytes: size, files, address: new URL(url, node.url) })
    } finally {
      end.abort()
      await following
      line.end()
    }
  },

  async list(context) {
    const node = await runningNode(context)
    const { publications } = await answerOf<List>(node.fetch('/api/ipfs/publications'))
    context.output.table(
      publications.map(({ id, state, path, size, publishedAt, url, problem }) => ({
        id,
        state: problem === undefined ? state : `${state}: ${problem}`,
        path,
        bytes: size,
        published: publishedAt,
        address: url && new URL(url, node.url),
      })),
      'Nothing is published.',
    )
  },

  async withdraw(context) {
    const node = await runningNode(context)
    await answerOf(node.fetch('/api/ipfs/withdraw', json({ id: context.args[0] })))
    context.output.lines('It is withdrawn.')
  },

  async import(context) {
    const { args, output, signal } = context
    const [file = '', folder = ''] = args
    const node = await runningNode(context)
    await using car = await openCar(file)
    const { size } = await car.stat()
    const query = new URLSearchParams({ path: folder, name: basename(file).replace(/(?<=.)\.car$/i, '') })
    const line = output.progress('Importing')
    try {
      const answer = node.fetch(`/api/ipfs/import?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.ipld.car' },
        body: counted(car, (bytes) => line.update(bytes / size)),
        duplex: 'half',
        signal,
      } as RequestInit)
      const imported = await answerOf<NodeAnswers['POST /api/ipfs/import']>(answer)
      line.end()
      output.state({ ...imported })
    } finally {
      line.end()
    }
  },

  async export(context) {
    const { args, output, signal } = context
    const [address = '', file = '-'] = args
    if (file === '-' && isatty(1))
      throw new Error('A CAR is no text for a terminal. Name a new file, or pipe the output into a program.')
    const node = await runningNode(context)
    const [, cid = address] = /\/ipfs\/([^/?#]+)/.exec(address) ?? []
    const answer = await node.fetch(`/ipfs/${encodeURIComponent(cid)}?format=car`, { signal })
    if (!answer.ok || answer.body === null) {
      const { message } = (await answer.json()) as { readonly message?: string }
      throw new Error(message)
    }
    const content = Readable.fromWeb(answer.body as never)
    if (file === '-') return pipeline(content, createWriteStream('', { fd: 1, autoClose: false }), { signal })
    const handle = await open(file, 'wx').catch((error) => {
      if (error.code === 'EEXIST') throw new Error(`There is "${file}" already. Name a new file.`)
      throw new Error(`"${file}" cannot be written: ${messageOf(error)}`)
    })
    try {
      await pipeline(content, handle.createWriteStream(), { signal })
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
    output.lines(`The CAR is in ${file}.`)
  },

  async verify(context) {
    const { output, signal } = context
    const node = await runningNode(context)
    const line = output.progress('Verifying')
    let { running, last } = await answerOf<Verified>(node.fetch('/api/ipfs/verify', { method: 'POST' }))
    while (running !== null) {
      line.update(running.of === 0 ? 0 : running.bytes / running.of)
      await delay(pollMs, undefined, { signal })
      ;({ running, last } = await answerOf<Verified>(node.fetch('/api/ipfs/verify')))
    }
    line.end()
    if (last === null) throw new Error('The node has stopped before the end.')
    if (last.problem !== null) throw new Error(last.problem)
    output.state({ blocks: last.blocks, bytes: last.bytes, damaged: last.damagedBlocks })
    if (last.damagedBlocks === 0) return
    output.lines(...(await damageLines(node, last)))
    throw new Error(
      'Blocks are damaged. Restore these files from a backup, or upload them again, and verify again.',
    )
  },
})

/** Returns a line for each file, publication or block that is damaged. Files lie below the uuid of their user. */
async function damageLines(node: NodeClient, { damaged }: Result): Promise<string[]> {
  const { users } = await answerOf<NodeAnswers['GET /api/users']>(node.fetch('/api/users'))
  const { publications } = await answerOf<List>(node.fetch('/api/ipfs/publications'))
  const fileLine = (path: string) => {
    const [, uuid, file] = /^\/([^/]+)(\/.*)$/.exec(path) ?? []
    const user = users.find((other) => other.uuid === uuid)
    return user === undefined ? path : `${file} of ${user.username}, below the mount`
  }
  const publicationLine = (id: string) =>
    `publication ${id} of ${publications.find((own) => own.id === id)?.path ?? 'another user'}`
  const lines = damaged.flatMap(({ cid, paths, publications: ids }) => {
    const found = [...paths.map(fileLine), ...ids.map(publicationLine)]
    return found.length > 0 ? found : [`block ${cid}`]
  })
  return [...new Set(lines)].map((line) => `Damaged: ${line}`)
}

/** Tells how far a path is, until the signal aborts. */
async function follow(
  node: NodeClient,
  path: string,
  signal: AbortSignal,
  tell: (bytes: number) => void,
): Promise<void> {
  while (!signal.aborted) {
    await delay(pollMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const list = await answerOf<List>(node.fetch('/api/ipfs/publications')).catch(() => null)
    const adding = list?.publications.find((other) => other.path === path && other.state === 'adding')
    if (adding?.addedBytes !== undefined) tell(adding.addedBytes)
  }
}

function json(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

async function openCar(file: string): Promise<FileHandle> {
  const handle = await open(file).catch((error) => {
    throw new Error(error.code === 'ENOENT' ? `There is no file "${file}".` : messageOf(error))
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error(`"${file}" is no file. Name a CAR file.`)
}

async function* counted(car: FileHandle, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of car.createReadStream({ autoClose: false })) {
    bytes += chunk.length
    tell(bytes)
    yield chunk
  }
}
