import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { answerOf, defineCommands, type NodeClient, runningNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { publishInTime } from './publish-in-time.ts'

type List = NodeAnswers['GET /api/ipfs/publications']
type Verified = NodeAnswers['GET /api/ipfs/verify']

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
    const following = follow(node, path, end.signal, (bytes) => line.update(0, `${bytes} bytes`))
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
      publications.map(({ id, state, path, cid, size, publishedAt, problem }) => ({
        id,
        state: problem === undefined ? state : `${state}: ${problem}`,
        path,
        bytes: size,
        cid,
        published: publishedAt,
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
    const { size } = await stat(file)
    const line = output.progress('Importing')
    try {
      const answer = node.fetch(`/api/ipfs/import?path=${encodeURIComponent(folder)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.ipld.car' },
        body: counted(file, (bytes) => line.update(bytes / size)),
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
    const [cid = '', file = '-'] = args
    const node = await runningNode(context)
    const answer = await node.fetch(`/ipfs/${encodeURIComponent(cid)}?format=car`, { signal })
    if (!answer.ok || answer.body === null) {
      const { message } = (await answer.json()) as { readonly message?: string }
      throw new Error(message)
    }
    const to =
      file === '-'
        ? createWriteStream('', { fd: 1, autoClose: false })
        : createWriteStream(file, { flags: 'wx' })
    await pipeline(Readable.fromWeb(answer.body as never), to, { signal })
    if (file !== '-') output.lines(`The CAR is in ${file}.`)
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
    for (const { cid, paths, publications } of last.damaged)
      output.lines(
        `Damaged: ${[...paths, ...publications.map((id) => `publication ${id}`)].join(', ') || cid}`,
      )
    if (last.damagedBlocks > 0) throw new Error('Blocks are damaged. Restore their files from a backup.')
  },
})

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

async function* counted(file: string, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of createReadStream(file)) {
    bytes += chunk.length
    tell(bytes)
    yield chunk
  }
}
