import { fileURLToPath } from 'node:url'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'

/** Every route of the default bundle that answers without a session. Add a route here only on purpose. */
const publicRoutes = [
  'GET /',
  'GET /api/web/sign-in',
  'GET /auth/siwe/nonce',
  'GET /health',
  'GET /web/{file}',
  'GET /whoami',
  'POST /auth/code/account',
  'POST /auth/{provider}',
]

const defaultBundle = fileURLToPath(new URL('../../config/default.json', import.meta.url))

interface Described {
  readonly paths: Record<string, Record<string, { readonly security?: unknown }>>
}

/** Returns all routes of a node: those of the OpenAPI document, and those of plugins that the document omits. */
async function routesOf(node: TestNode): Promise<{ all: string[]; declaredPublic: string[] }> {
  const owner = await node.signIn('owner')
  const { paths } = (await (await owner.fetch('/openapi.json')).json()) as Described
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      open: security === undefined,
    })),
  )
  const declared = node.plugins().flatMap(({ routes }) =>
    routes.map(({ method, path, access }) => ({
      name: `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
      open: access === 'public',
    })),
  )
  const routes = [...operations, ...declared.filter(({ name }) => !name.startsWith('HEAD '))]
  return {
    all: [...new Set(routes.map(({ name }) => name))].sort(),
    declaredPublic: [...new Set(routes.filter(({ open }) => open).map(({ name }) => name))].sort(),
  }
}

test('every route of the default bundle requires a session, except the listed ones', async (t) => {
  const node = await createTestNode({ config: { extends: defaultBundle } })
  t.teardown(() => node.stop())
  const { all, declaredPublic } = await routesOf(node)
  t.ok(all.length > 10, `${all.length} routes`)
  t.same(declaredPublic, publicRoutes, 'the routes that are declared public')

  const answering = []
  for (const route of all) {
    const [method = '', path = ''] = route.split(' ')
    const answer = await node.fetch(path.replaceAll(/\{[^}]*\}/g, 'x'), { method })
    if (answer.status !== 401) answering.push(route)
    await answer.body?.cancel()
  }
  t.same(answering, publicRoutes, 'the routes that answer without a session')
})
