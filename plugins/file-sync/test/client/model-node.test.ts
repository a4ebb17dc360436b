import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { Answer, LocalContent } from '../../src/client/ports.ts'
import { NodeRemote } from '../../src/client/remote/node-remote.ts'
import { SyncFailure } from '../../src/client/sync-failure.ts'
import type { ServerMessage } from '../../src/protocol/messages.ts'
import { createSyncNode } from '../fixtures/sync-node.ts'
import { ModelNode } from './model/model-node.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

const path = fc
  .array(fc.constantFrom('a', 'b', 'é'), { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.join('/')}`)
const condition = fc.constantFrom('right', 'wrong', 'none')
const operation = fc.oneof(
  fc.record({ do: fc.constant('write' as const), path, condition }),
  fc.record({ do: fc.constant('makeFolder' as const), path }),
  fc.record({ do: fc.constant('remove' as const), path, condition }),
  fc.record({ do: fc.constant('move' as const), path, destination: path, condition }),
  fc.record({ do: fc.constant('read' as const), path, condition }),
)
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never

/** The operations that both nodes offer, with their own revisions. */
interface Subject {
  /** The revision of the file at a path now. */
  revisionAt(path: string): Promise<string | null>
  perform(step: Operation, content: string, revision: string | null): Promise<unknown>
  /** All paths, each with the content of a file. */
  tree(): Promise<string[]>
  /** The paths that the feed has told. */
  changed(): Promise<string[]>
}

t.test('the model of the node answers, stores and tells as a real node does', async (t) => {
  let count = 0
  const property = fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (steps) => {
    const { token } = await node.signIn()
    const [real, model] = [await realSubject(token), modelSubject()]
    for (const step of steps) {
      count += 1
      const outcomes = await Promise.all(
        [real, model].map(async (subject) => {
          const now = await subject.revisionAt(step.path)
          const revision =
            'condition' in step ? { right: now, wrong: 'wrong', none: null }[step.condition] : null
          return subject.perform(step, `content ${count}`, revision).catch(kindOf)
        }),
      )
      same(outcomes[0], outcomes[1], JSON.stringify(step))
    }
    same(await real.tree(), await model.tree(), 'the tree')
    same(await real.changed(), await model.changed(), 'the changes')
  })
  await t.resolves(fc.assert(property, { seed: Number(process.env.TEST_SEED ?? 4200), numRuns: 10 }))
})

async function realSubject(token: string): Promise<Subject> {
  const remote = new NodeRemote({ url: node.url, token, deviceName: 'test' })
  const end = new AbortController()
  const changes: string[] = []
  const begun = Promise.withResolvers<void>()
  let wake = () => {}
  const onMessage = (message: ServerMessage, say: (answer: Answer) => void) => {
    if (message.type === 'reset') {
      begun.resolve()
    } else if (message.type === 'changes') {
      changes.push(...message.changes.flatMap(pathsOf))
      say({ type: 'ack', cursor: message.cursor })
      wake()
    }
  }
  const ended = remote.follow({}, onMessage, end.signal)
  await Promise.race([begun.promise, ended])
  const revisionAt = async (each: string) => {
    const entry = await remote.stat(each)
    return entry?.type === 'file' ? entry.revision : null
  }
  return {
    revisionAt,
    perform: (step, content, revision) => performReal(remote, step, content, revision),
    async tree() {
      const lines: string[] = []
      const visit = async (folder: string) => {
        for (const [name, entry] of (await remote.list(folder)) ?? []) {
          const each = folder === '/' ? `/${name}` : `${folder}/${name}`
          lines.push(
            entry.type === 'file' ? `${each}: ${await textOf(remote.read(each, entry, null))}` : each,
          )
          if (entry.type === 'directory') await visit(each)
        }
      }
      await visit('/')
      return lines.sort()
    },
    async changed() {
      // The last change is one that both nodes know.
      await remote.makeFolder('/the end')
      while (!changes.includes('/the end')) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      end.abort()
      await ended
      return changes
    },
  }
}

function modelSubject(): Subject {
  const model = new ModelNode()
  const changes: string[] = []
  const feed = model.follow({}, (message) => {
    if (message.type !== 'changes') return
    changes.push(...message.changes.flatMap(pathsOf))
    // The model sends the next page within this call.
    queueMicrotask(() => feed.answer({ type: 'ack', cursor: message.cursor }))
  })
  return {
    revisionAt: async (each) => {
      const entry = model.stat(each)
      return entry?.type === 'file' ? entry.revision : null
    },
    async perform(step, content, revision) {
      switch (step.do) {
        case 'write':
          return model.write(step.path, content, 1_700_000_000_000, revision).size
        case 'makeFolder':
          return model.makeFolder(step.path)
        case 'remove':
          return model.remove(step.path, revision)
        case 'move':
          model.move(step.path, step.destination, revision ?? 'wrong')
          return 'file'
        case 'read':
          return model.read(step.path, revision ?? 'wrong')
      }
    },
    tree: async () =>
      [...model.nodes]
        .map(([each, entry]) => (entry.type === 'file' ? `${each}: ${entry.content}` : each))
        .sort(),
    async changed() {
      model.makeFolder('/the end')
      while (!changes.includes('/the end')) await Promise.resolve()
      return changes
    },
  }
}

async function performReal(remote: NodeRemote, step: Operation, text: string, revision: string | null) {
  const bytes = Buffer.from(text)
  const content: LocalContent = {
    size: bytes.length,
    modified: 1_700_000_000_000,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    async *read() {
      yield bytes
    },
    close: async () => {},
  }
  switch (step.do) {
    case 'write':
      return (await remote.write(step.path, content, revision)).size
    case 'makeFolder':
      return remote.makeFolder(step.path)
    case 'remove':
      return remote.remove(step.path, revision)
    case 'move':
      await remote.move(step.path, step.destination, revision ?? 'wrong')
      return 'file'
    case 'read': {
      const file = { type: 'file', size: bytes.length, modified: 0, revision: revision ?? 'wrong' } as const
      const entry = await remote.stat(step.path)
      return textOf(
        remote.read(step.path, entry?.type === 'file' ? { ...file, size: entry.size } : file, null),
      )
    }
  }
}

function pathsOf(change: { readonly op: string; readonly path: string; readonly source?: string }): string[] {
  return change.source === undefined ? [change.path] : [change.path, change.source]
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content)).toString()
}

/** The client treats `changed` and `refused` alike where it has expected something else. */
function kindOf(error: unknown): string {
  if (!(error instanceof SyncFailure)) throw error
  return error.kind === 'unavailable' || error.kind === 'stop' ? error.kind : 'not done'
}

function same(one: unknown, other: unknown, what: string): void {
  const [real, model] = [JSON.stringify(one ?? null), JSON.stringify(other ?? null)]
  if (real !== model) throw new Error(`${what}: the node has ${real}, the model ${model}`)
}
