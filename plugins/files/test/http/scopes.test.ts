import t from 'tap'
import { createFilesNode } from '../fixtures/files-node.ts'

const reading = [
  'GET /read',
  'HEAD /read',
  'GET /readdir',
  'GET /stat',
  'GET /api/files/list',
  'GET /api/files/archive',
  'GET /api/files/changes',
  'GET /api/files/changes/newest',
  'GET /api/files/usage',
  'GET /api/files/trash',
  'GET /api/files/versions',
  'GET /api/files/versions/read',
  'HEAD /api/files/versions/read',
]
const writing = [
  'POST /write',
  'PUT /write',
  'POST /mkdir',
  'POST /delete',
  'POST /move',
  'POST /api/files/copy',
  'POST /api/files/trash/restore',
  'POST /api/files/versions/restore',
  'POST /api/files/undo',
]
const purging = [
  'POST /api/files/trash/delete',
  'POST /api/files/trash/empty',
  'POST /api/files/versions/delete',
]

t.test(
  'API tokens reach the routes that their scopes name, and a request without a session reaches none',
  async (t) => {
    const node = await createFilesNode()
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    const statusOf = async (route: string, token?: string) => {
      const [method = '', path = ''] = route.split(' ')
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const answer = await node.fetch(`${path}?path=/none`, { method, headers })
      await answer.arrayBuffer()
      return answer.status
    }
    const tokenFor = async (scopes: string[]) => {
      const answer = await ada.fetch('/api/account/tokens', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: scopes.join(), scopes }),
      })
      return ((await answer.json()) as { token: string }).token
    }
    const reader = await tokenFor(['files:read'])
    const writer = await tokenFor(['files:write'])
    const purger = await tokenFor(['files:purge'])
    for (const route of [...reading, ...writing, ...purging]) {
      t.equal(await statusOf(route), 401, `${route} without a session`)
      t.equal((await statusOf(route, reader)) === 403, !reading.includes(route), `${route} for a reader`)
      t.equal((await statusOf(route, writer)) === 403, !writing.includes(route), `${route} for a writer`)
      t.equal((await statusOf(route, purger)) === 403, !purging.includes(route), `${route} for "files:purge"`)
    }
  },
)
