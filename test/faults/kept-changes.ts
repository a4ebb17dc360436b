import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { FilesProcess } from './files-process.ts'
import { bytesOfContent } from './kept-client.ts'
import type { KeptChange } from './kept-model.ts'

/** A node, and a session of a user. */
export type SignedInNode = Pick<FilesProcess, 'url' | 'session'>

/** The answer to a change. */
export interface Answer {
  readonly status: number
  readonly text: string
  /** The group that takes it back. */
  readonly undo: string | null
}

/** Sends a request of the user. */
export function ask(node: SignedInNode, target: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${node.session.token}` }
  return fetch(new URL(target, node.url), { ...init, headers })
}

/**
 * Requests a change. Items and versions are looked up in the lists of the node.
 *
 * @param gone the ids of those that count as gone
 */
export async function makeChange(
  node: SignedInNode,
  change: KeptChange,
  gone: ReadonlySet<string>,
): Promise<Answer> {
  const answer = await request(node, change, gone)
  const text = await answer.text()
  return { status: answer.status, text, undo: answer.ok ? answer.headers.get('x-nodekeep-undo') : null }
}

async function request(node: SignedInNode, change: KeptChange, gone: ReadonlySet<string>): Promise<Response> {
  const post = (target: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    return ask(node, target, { method: 'POST', body: JSON.stringify(body), headers })
  }
  const idAt = (listed: readonly { readonly id: string }[] = [], index: number) =>
    listed.filter(({ id }) => !gone.has(id))[index]?.id
  const itemAt = async (index: number) => {
    const listed = await list<NodeAnswers['GET /api/files/trash']>(node, 'trash?limit=1000')
    return idAt(listed?.items, index)
  }
  switch (change.op) {
    case 'write':
      return ask(node, `/write?path=${change.path}`, { method: 'PUT', body: bytesOfContent(change.content) })
    case 'mkdir':
      return post('/mkdir', { path: change.path })
    case 'delete':
      return post('/delete', { path: change.path, permanent: change.permanent })
    case 'move':
    case 'copy': {
      const { op, source, path } = change
      return post(op === 'move' ? '/move' : '/api/files/copy', { source, destination: path, overwrite: true })
    }
    case 'restore': {
      const id = await itemAt(change.index)
      const destination = change.path === null ? {} : { destination: change.path }
      return post('/api/files/trash/restore', { id, ...destination })
    }
    case 'delete item':
      return post('/api/files/trash/delete', { id: await itemAt(change.index) })
    case 'empty trash':
      return post('/api/files/trash/empty', {})
    case 'restore version':
    case 'delete version': {
      const { op, path, index } = change
      const listed = await list<NodeAnswers['GET /api/files/versions']>(
        node,
        `versions?path=${path}&limit=1000`,
      )
      const endpoint = op === 'restore version' ? 'restore' : 'delete'
      return post(`/api/files/versions/${endpoint}`, { path, id: idAt(listed?.versions, index) })
    }
    case 'undo':
      return post('/api/files/undo', { group: change.group })
  }
}

/** Returns null if the node has crashed meanwhile. */
async function list<T>(node: SignedInNode, target: string): Promise<T | null> {
  const answer = await ask(node, `/api/files/${target}`)
  return answer.ok ? ((await answer.json()) as T) : null
}
