import type { TestUser } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chatBody, createAiNode } from '../fixtures/ai-node.ts'
import { scripted, stop } from '../fixtures/scripted-provider.ts'

/** A plugin with another scope for tokens. */
const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes((app) => {
      app.get('/notes', { config: { scope: 'notes' } }, async () => ({}))
    })
  },
})

t.test('Only users who are signed in and API tokens with the scope reach a provider', async (t) => {
  let asked = 0
  const acme = scripted(
    () => {
      asked += 1
      return [stop]
    },
    {
      async models() {
        asked += 1
        return []
      },
    },
  )
  const node = await createAiNode({ providers: { acme }, plugins: [notes] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const statuses = async (token?: string) => {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    const post = { method: 'POST', headers, body: JSON.stringify(chatBody()) }
    const answers = await Promise.all([
      node.fetch('/api/ai/chat', post),
      node.fetch('/api/ai/models', { headers }),
      node.fetch('/api/ai/usage', { headers }),
      node.fetch('/api/ai/hosts', { headers }),
    ])
    return answers.map(({ status }) => status)
  }
  t.strictSame(await statuses(), [401, 401, 401, 401])
  t.strictSame(await statuses('wrong'), [401, 401, 401, 401])
  t.strictSame(await statuses(await apiToken(ada, ['notes'])), [403, 403, 403, 403])
  t.equal(asked, 0)
  t.strictSame(await statuses(await apiToken(ada, ['ai'])), [200, 200, 200, 200])
  t.strictSame(await statuses(ada.token), [200, 200, 200, 200])
  t.equal(asked, 3, 'The second list of models came from the cache.')
})

t.test('Only the owner with a full session reads the usage of other users', async (t) => {
  const node = await createAiNode()
  t.teardown(() => node.stop())
  const [ada, bob, owner] = [await node.signIn(), await node.signIn(), await node.signIn('owner')]
  const status = async (user: Pick<TestUser, 'fetch'>, query: string) =>
    (await user.fetch(`/api/ai/usage${query}`)).status
  t.equal(await status(ada, `?user=${ada.user.uuid}`), 200)
  t.equal(await status(ada, `?user=${ada.user.uuid.toUpperCase()}`), 200)
  t.equal(await status(ada, `?user=${bob.user.uuid}`), 403)
  t.equal(await status(ada, `?user=${owner.user.uuid}`), 403)
  t.equal(await status(owner, `?user=${ada.user.uuid}`), 200)
  t.equal(await status(owner, '?user=5f0c7c9e-9b1b-4a7c-8a34-1f6f0d6f2f11'), 200)
  t.equal(await status(owner, '?user=ada'), 400)
  t.equal(await status(owner, '?days=5'), 400)
  const headers = { authorization: `Bearer ${await apiToken(owner, ['ai'])}` }
  const program = { fetch: (path: string) => node.fetch(path, { headers }) }
  t.equal(await status(program, ''), 200)
  t.equal(await status(program, `?user=${ada.user.uuid}`), 403)
})

async function apiToken(user: TestUser, scopes: string[]): Promise<string> {
  const answer = await user.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: scopes.join(), scopes }),
  })
  return ((await answer.json()) as { token: string }).token
}
