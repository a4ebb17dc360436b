import assert from 'node:assert/strict'
import { bytesOf } from './files-client.ts'
import type { FilesProcess } from './files-process.ts'
import type { Random } from './random.ts'

/** The program of a node with files and backups. */
export const backupProgram = new URL('./fixtures/backup-node.ts', import.meta.url)

/** Asks as the owner. Null if the node was killed before it answered. */
export async function ask(
  node: FilesProcess,
  target: string,
  init: RequestInit = {},
): Promise<Response | null> {
  const headers = { ...init.headers, authorization: `Bearer ${node.session.token}` }
  try {
    return await fetch(new URL(target, node.url), { ...init, headers })
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

/** Writes up to 60 files of many sizes. */
export async function fill(node: FilesProcess, random: Random): Promise<void> {
  for (let index = random.integer(1, 60); index > 0; index -= 1) {
    const size = random.chance(0.1) ? random.integer(100_000, 4_000_000) : random.integer(0, 20_000)
    const body = bytesOf(`${size}:${index};`)
    const path = `/${random.pick(['a', 'b', 'c/d'])}/${index}`
    const answer = await ask(node, `/write?path=${path}`, { method: 'PUT', body })
    assert.equal(answer?.status, 200)
  }
}
