import assert from 'node:assert/strict'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { ask, type SignedInNode } from './kept-changes.ts'

/** The content of which a file has a copy or more. */
export function contentOf(bytes: Buffer): string {
  return bytes.subarray(0, bytes.indexOf(';') + 1).toString()
}

async function expect(node: SignedInNode, target: string, init?: RequestInit): Promise<Response> {
  const answer = await ask(node, target, init)
  assert.equal(answer.status, 200, `${target}: ${answer.ok ? '' : await answer.text()}`)
  return answer
}

/**
 * Restores the whole trash, then returns the contents of all files and of all their versions, as the API has them.
 *
 * @param gone the ids of items and versions that count as gone
 */
export async function contentsByApi(
  node: SignedInNode,
  gone: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const trash = '/api/files/trash'
  for (let count = 0; ; ) {
    const { items } = (await (await expect(node, trash)).json()) as NodeAnswers[`GET ${typeof trash}`]
    const left = items.filter(({ id }) => !gone.has(id))
    if (left.length === 0) break
    for (const { id } of left) {
      count += 1
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ id, destination: `/restored/${count}` })
      await expect(node, `${trash}/restore`, { method: 'POST', headers, body })
    }
  }
  const contents: string[] = []
  const read = async (target: string) =>
    contents.push(contentOf(Buffer.from(await (await expect(node, target)).arrayBuffer())))
  const walk = async (folder: string) => {
    const entries = (await (
      await expect(node, `/readdir?path=${folder || '/'}`)
    ).json()) as NodeAnswers['GET /readdir']
    for (const { name, type } of entries) {
      const path = encodeURIComponent(`${folder}/${name}`)
      if (type === 'directory') await walk(`${folder}/${name}`)
      else {
        await read(`/read?path=${path}`)
        let cursor: string | null = ''
        while (cursor !== null) {
          const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
          const answer = await expect(node, `/api/files/versions?path=${path}${after}`)
          const page = (await answer.json()) as NodeAnswers['GET /api/files/versions']
          for (const { id } of page.versions)
            if (!gone.has(id)) await read(`/api/files/versions/read?path=${path}&id=${id}`)
          cursor = page.cursor
        }
      }
    }
  }
  await walk('')
  return contents
}
