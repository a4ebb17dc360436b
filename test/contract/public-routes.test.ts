import { readdirSync } from 'node:fs'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { configurations } from './fixtures/all-plugins.ts'

type Reasons = Readonly<Record<string, string>>

/** The public routes of the kernel and of `login-siwe`, which all nodes have, with their reasons. */
const ofAll: Reasons = {
  'GET /auth/siwe/nonce':
    'A client that is about to sign in has no session yet. Requests are limited for each address.',
  'GET /health': 'Load balancers and supervisors call it. It contains no data of users.',
  'GET /whoami': 'It tells a client whether it is signed in.',
  'POST /auth/{provider}': 'Clients sign in here. Requests are limited for each address.',
}

const pages = 'People sign in on this page.'
const unclaimed =
  'A node without an owner has no users. The claim code is required. Requests are limited for each address.'
const guests =
  'Guests have the secret of a link in place of a session. Requests are limited for each address and link.'
const signed = 'A node proves its key by the signature of the request. Requests are limited for each address.'

/** Every route that answers without a session. Add a route here only on purpose. */
const publicRoutes: Readonly<Record<keyof typeof configurations, Reasons>> = {
  node: {
    ...ofAll,
    'GET /': pages,
    'GET /api/overlay/address-proof/{nonce}':
      'A gateway asks whether this node answers at its public address. The answer is a signature of the question.',
    'GET /api/sync/client/nodekeep-sync.cjs':
      'A new device has no token yet. The file has no data of users. Requests are limited for each address.',
    'GET /api/web/sign-in': pages,
    'GET /auth/restore': unclaimed,
    'GET /ipfs/{wildcard}':
      'Everybody may read what users publish, by the address that proves it. Answers at a time are limited for each address.',
    'GET /s/-/drop.js': guests,
    'GET /s/-/shares.css': guests,
    'GET /s/{token}': guests,
    'GET /s/{token}/file': guests,
    'GET /s/{token}/preview': guests,
    'GET /s/{token}/view': guests,
    'GET /s/{token}/zip': guests,
    'GET /service-worker.js': pages,
    'GET /web/manifest.webmanifest': pages,
    'GET /web/{file}': pages,
    'POST /auth/access-requests':
      'A person who asks for admission has no session. A login provider verifies their wallet. Requests are limited for each address.',
    'POST /auth/code/account':
      'A client that signs in has no session yet. Tries are limited for each address.',
    'POST /auth/restore/compare': unclaimed,
    'POST /auth/restore/confirm': unclaimed,
    'PATCH /s/{token}/uploads/{id}': guests,
    'POST /s/{token}/drop': guests,
    'POST /s/{token}/password': guests,
    'POST /s/{token}/uploads': guests,
    'PUT /auth/restore': unclaimed,
  },
  gateway: {
    ...ofAll,
    'DELETE /api/gateway/register/{subdomain}': signed,
    'GET /api/gateway/status/{subdomain}':
      'It tells whether a name is free, and whether its node is connected. It names nobody.',
    'POST /api/gateway/register': signed,
  },
}

interface Described {
  readonly paths: Record<string, Record<string, { readonly security?: unknown }>>
}

interface Route {
  readonly name: string
  readonly open: boolean
  /** Known of the routes of plugins only. */
  readonly reason?: string | null
}

/** Returns all routes of a node: those of plugins, and those of the OpenAPI document, which has the kernel's as well. */
async function routesOf(node: TestNode): Promise<Map<string, Route>> {
  const owner = await node.signIn('owner')
  const { paths } = (await (await owner.fetch('/openapi.json')).json()) as Described
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { security }]): Route => ({
        name: `${method.toUpperCase()} ${path}`,
        open: security === undefined,
      }),
    ),
  )
  const declared = node.plugins().flatMap(({ routes }) =>
    routes.map(
      ({ method, path, access, publicReason }): Route => ({
        name: `${method} ${path.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{wildcard}')}`,
        open: access === 'public',
        reason: publicReason,
      }),
    ),
  )
  const routes = [...described, ...declared.filter(({ name }) => !name.startsWith('HEAD '))]
  return new Map(routes.map((route) => [route.name, route]))
}

const seen = new Set<string>()

for (const [name, config] of Object.entries(configurations)) {
  const reasons = publicRoutes[name as keyof typeof configurations]
  test(`every route of a ${name} requires a session, except the listed ones`, async (t) => {
    const node = await createTestNode({ config })
    t.teardown(() => node.stop())
    for (const { id, state } of node.plugins()) {
      t.equal(state, 'active', id)
      seen.add(id)
    }
    const routes = await routesOf(node)
    t.ok(routes.size > 10, `${routes.size} routes`)
    const open = [...routes.values()].filter((route) => route.open)
    t.same(open.map((route) => route.name).sort(), Object.keys(reasons).sort())
    for (const route of open)
      if (route.reason !== undefined) t.equal(route.reason, reasons[route.name], route.name)

    const answering = []
    for (const route of routes.keys()) {
      const [method = '', path = ''] = route.split(' ')
      const answer = await node.fetch(path.replaceAll(/\{[^}]*\}/g, 'x'), { method })
      // The gateway answers 401, too, if a request lacks a signature.
      if (answer.status !== 401 || reasons[route] === signed) answering.push(route)
      await answer.body?.cancel()
    }
    t.same(answering.sort(), Object.keys(reasons).sort(), 'the routes that answer without a session')
  })
}

test('the routes of all plugins of the repository were seen', async (t) => {
  const plugins = readdirSync(new URL('../../plugins', import.meta.url))
  t.same([...seen].sort(), plugins.sort())
})
