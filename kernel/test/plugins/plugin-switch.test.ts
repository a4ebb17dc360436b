import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, defineService, LoginProviders, type Plugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { startSwitchNode } from './switch-node.ts'

interface Words {
  greet(): string
}

const Greeting = defineService<Words>('test-greeting', 1)

const greeter = definePlugin({
  id: 'greeter',
  provides: { greeting: Greeting },
  setup: () => ({ greeting: { greet: () => 'hello' } }),
})

const needy = definePlugin({
  id: 'needy',
  requires: { greeting: Greeting },
  setup({ greeting, routes }) {
    routes((app) => {
      app.get('/needy', async () => greeting.greet())
    })
  },
})

const flexible = definePlugin({
  id: 'flexible',
  optional: { greeting: Greeting },
  setup({ greeting, routes }) {
    routes((app) => {
      app.get('/flexible', async () => greeting?.greet() ?? 'nothing to say')
    })
  },
})

const lone = definePlugin({
  id: 'lone',
  setup({ routes }) {
    routes((app) => {
      app.get('/lone', async () => 'here')
    })
  },
})

const loginOf = (id: string, requires = {}) =>
  definePlugin({
    id,
    requires,
    contributes: { logins: LoginProviders },
    setup({ logins }) {
      logins.add(id, { verify: async ({ uuid, address }) => ({ uuid, address }) })
    },
  })

test('a disabled plugin has no routes, and works again after it is enabled', async (t) => {
  const { ask, switchPlugin, state } = await startSwitchNode(t, [lone])
  t.equal((await ask('/lone')).status, 200)
  const off = await switchPlugin('lone', 'disable')
  t.equal(off.status, 200)
  t.match(await off.json(), { plugin: { id: 'lone', state: 'disabled', reason: 'switched off at run time' } })
  t.equal((await ask('/lone')).status, 404)
  t.equal((await switchPlugin('lone', 'disable')).status, 200, 'a second disable is not an error')
  t.match(await (await switchPlugin('lone', 'enable')).json(), { plugin: { state: 'active', reason: null } })
  t.equal((await ask('/lone')).status, 200)
  t.equal((await switchPlugin('lone', 'enable')).status, 200)
  t.match(state('lone'), { state: 'active', routes: [{ path: '/lone' }, { path: '/lone' }] })
})

test('a plugin whose stop fails can be disabled and enabled', async (t) => {
  const stubborn = definePlugin({
    id: 'stubborn',
    setup({ onStop, routes }) {
      onStop(() => {
        throw Object.freeze(new Error('onStop broke'))
      })
      routes((app) => {
        app.get('/stubborn', async () => 'here')
      })
    },
  })
  const { switchPlugin, state, ask } = await startSwitchNode(t, [stubborn])
  t.equal((await switchPlugin('stubborn', 'disable')).status, 200)
  t.match(state('stubborn'), { state: 'disabled', routes: [] })
  t.equal((await switchPlugin('stubborn', 'enable')).status, 200)
  t.match(state('stubborn'), { state: 'active' })
  t.equal(await (await ask('/stubborn')).text(), 'here')
})

test('a disabled plugin blocks the plugins that require it, but not those that use it optionally', async (t) => {
  const { ask, switchPlugin, state } = await startSwitchNode(t, [greeter, needy, flexible])
  t.equal(await (await ask('/flexible')).text(), 'hello')
  await switchPlugin('greeter', 'disable')
  t.match(state('needy'), { state: 'blocked', reason: /needs the service "test-greeting@1"/ })
  t.match(
    state('needy')?.reason,
    /"greeter" provides it, but was switched off at run time: POST .*greeter\/enable/,
  )
  t.equal((await ask('/needy')).status, 404)
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
  await switchPlugin('greeter', 'enable')
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal(await (await ask('/flexible')).text(), 'hello')
})

test('a required plugin cannot be disabled', async (t) => {
  const { ask, switchPlugin } = await startSwitchNode(t, [greeter, needy, lone], { required: ['needy'] })
  const direct = await switchPlugin('needy', 'disable')
  t.equal(direct.status, 409)
  t.match(await direct.json(), {
    code: 'CONFLICT',
    message: /"needy" is required\. Set "required": false at/,
  })
  const indirect = await switchPlugin('greeter', 'disable')
  t.equal(indirect.status, 409)
  t.match(await indirect.json(), { message: '"needy" is required and needs "greeter".' })
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal((await switchPlugin('nobody', 'disable')).status, 404)
  t.equal((await switchPlugin('nobody', 'enable')).status, 404)
})

test('the last login provider and the plugins that it requires cannot be disabled', async (t) => {
  const one = loginOf('one-login')
  const two = loginOf('two-login', { greeting: Greeting })
  const { switchPlugin, state } = await startSwitchNode(t, [greeter, one, two])
  t.equal((await switchPlugin('one-login', 'disable')).status, 200)
  for (const id of ['two-login', 'greeter']) {
    const refused = await switchPlugin(id, 'disable')
    t.equal(refused.status, 409, id)
    t.match(await refused.json(), {
      message: `"${id}" is the last way to sign in. Enable another login provider first.`,
    })
  }
  t.match(state('two-login'), { state: 'active' })
  await switchPlugin('one-login', 'enable')
  t.equal((await switchPlugin('greeter', 'disable')).status, 200)
})

test('only the owner may disable and enable plugins', async (t) => {
  const { node, switchPlugin, state } = await startSwitchNode(t, [lone])
  const path = '/api/system/plugins/lone/disable'
  t.equal((await node.fetch(path, { method: 'POST' })).status, 401)
  const ada = await node.signIn()
  t.equal((await ada.fetch(path, { method: 'POST' })).status, 403)
  t.equal((await ada.fetch('/api/system/plugins')).status, 403)
  t.match(state('lone'), { state: 'active' })
  t.equal((await switchPlugin('lone', 'disable')).status, 200)
})

test('a disabled plugin stays disabled after a restart, and the stored choice cannot enable one', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-switch-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  let session: { token?: string } = {}
  const boot = async (plugins: readonly Plugin[], config = {}, required: readonly string[] = []) => {
    const options = { dataFolder, config, required, ...session }
    const { node, token, ...rest } = await startSwitchNode(t, plugins, options)
    session = { token }
    return { ...rest, stop: () => node.stop() }
  }
  const first = await boot([greeter, needy, lone])
  await first.switchPlugin('greeter', 'disable')
  await first.switchPlugin('lone', 'disable')
  await first.stop()

  const second = await boot([greeter, needy, lone])
  t.match(second.state('lone'), { state: 'disabled', reason: 'switched off at run time' })
  t.match(second.state('greeter'), { state: 'disabled' })
  t.match(second.state('needy'), { state: 'blocked' })
  t.match(await (await second.switchPlugin('lone', 'enable')).json(), { plugin: { state: 'active' } })
  await second.stop()

  const off = { plugins: { lone: false, greeter: { required: false }, needy: { required: false } } }
  const third = await boot([greeter, needy, lone], off)
  t.match(third.state('lone'), { state: 'disabled', reason: /switched off by the given configuration/ })
  const refused = await third.switchPlugin('lone', 'enable')
  t.equal(refused.status, 409)
  t.match(await refused.json(), {
    message: '"lone" is switched off by the given configuration. Enable it there and restart the node.',
  })
  await third.stop()

  const fourth = await boot([greeter, needy, lone], {}, ['needy'])
  t.match(
    fourth.state('greeter'),
    { state: 'active' },
    'a required plugin overrides the choice for the plugin that it needs',
  )
  t.equal(await (await fourth.ask('/needy')).text(), 'hello')
})

test('enabling starts a failed plugin again', async (t) => {
  let attempts = 0
  const moody = definePlugin({
    id: 'moody',
    setup({ routes }) {
      attempts += 1
      if (attempts < 3) throw new Error(`not in the mood, attempt ${attempts}`)
      routes((app) => {
        app.get('/moody', async () => 'at last')
      })
    },
  })
  const { ask, switchPlugin, state } = await startSwitchNode(t, [moody, lone])
  t.match(state('moody'), { state: 'failed', phase: 'setup', reason: 'not in the mood, attempt 1' })
  const again = await switchPlugin('moody', 'enable')
  t.match(await again.json(), {
    plugin: { state: 'failed', phase: 'setup', reason: 'not in the mood, attempt 2' },
  })
  await switchPlugin('moody', 'enable')
  t.match(state('moody'), { state: 'active', phase: null, reason: null })
  t.equal(await (await ask('/moody')).text(), 'at last')
  t.equal((await ask('/lone')).status, 200)
})

test('a plugin runs without its optional provider when the provider fails to start', async (t) => {
  let fails = true
  const provider = definePlugin({
    id: 'provider',
    provides: { greeting: Greeting },
    setup({ onStart }) {
      onStart(() => {
        if (fails) throw new Error('no start today')
      })
      return { greeting: { greet: () => 'hello' } }
    },
  })
  const { ask, switchPlugin, state } = await startSwitchNode(t, [provider, needy, flexible])
  t.match(state('provider'), { state: 'failed', phase: 'start', reason: 'no start today' })
  t.match(state('needy'), {
    state: 'blocked',
    reason: /"provider" provides it, but its state is failed: no start today/,
  })
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
  fails = false
  await switchPlugin('provider', 'enable')
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal(await (await ask('/flexible')).text(), 'hello')
  fails = true
  await switchPlugin('provider', 'disable')
  await switchPlugin('provider', 'enable')
  t.match(state('provider'), { state: 'failed', phase: 'start' })
  t.match(state('needy'), { state: 'blocked' })
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
})

test('concurrent changes run one after another', async (t) => {
  const { ask, switchPlugin, state } = await startSwitchNode(t, [greeter, needy, flexible, lone])
  const calls = Array.from({ length: 24 }, (_, index) =>
    switchPlugin(index % 3 === 0 ? 'lone' : 'greeter', index % 2 === 0 ? 'disable' : 'enable'),
  )
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  t.same([...new Set(statuses)], [200])
  await Promise.all([switchPlugin('greeter', 'enable'), switchPlugin('lone', 'enable')])
  for (const id of ['greeter', 'needy', 'flexible', 'lone']) t.match(state(id), { state: 'active' }, id)
  t.equal(await (await ask('/needy')).text(), 'hello')
})

test('a new plugin cannot take over the service of an active plugin', async (t) => {
  const rival = definePlugin({
    id: 'rival',
    provides: { greeting: Greeting },
    setup: () => ({ greeting: { greet: () => 'salut' } }),
  })
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-switch-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const alone = await startSwitchNode(t, [rival], { dataFolder })
  await alone.switchPlugin('rival', 'disable')
  await alone.node.stop()
  const { token } = alone
  const { ask, switchPlugin, state } = await startSwitchNode(t, [greeter, rival, needy], {
    dataFolder,
    token,
  })
  t.match(await (await switchPlugin('rival', 'enable')).json(), {
    plugin: { state: 'blocked', reason: /Choose one with "services": \{ "test-greeting": "rival" \}/ },
  })
  t.match(state('greeter'), { state: 'active' })
  t.equal(await (await ask('/needy')).text(), 'hello')
})

test('a request that fails with the reason of the stop is answered with 503', async (t) => {
  const begun = Promise.withResolvers<void>()
  const waiting = definePlugin({
    id: 'waiting',
    setup({ routes, signal }) {
      routes((app) => {
        app.get('/wait', { config: { access: 'public', publicReason: 'a test' } }, async () => {
          begun.resolve()
          await once(signal, 'abort')
          throw signal.reason
        })
      })
    },
  })
  const { node, switchPlugin } = await startSwitchNode(t, [waiting])
  const answer = node.fetch('/wait')
  await begun.promise
  await switchPlugin('waiting', 'disable')
  t.equal((await answer).status, 503)
  t.equal((await answer).headers.get('retry-after'), '5')
  t.match(await (await answer).json(), { code: 'SERVICE_UNAVAILABLE', message: /^The plugin is stopping\./ })
})

test('WebSockets close with the reason of the stop', async (t) => {
  const talker = definePlugin({
    id: 'talker',
    setup({ routes }) {
      routes(
        (app) => {
          const config = { access: 'public', publicReason: 'a test' } as const
          app.get('/talk', { websocket: true, config }, (socket) => socket.send('welcome'))
        },
        { webSockets: true },
      )
    },
  })
  const { node, switchPlugin } = await startSwitchNode(t, [talker])
  const connect = async () => {
    const socket = new WebSocket(new URL('/talk', node.url))
    await once(socket, 'message')
    return socket
  }
  for (let round = 0; round < 2; round += 1) {
    const sockets = await Promise.all([connect(), connect()])
    const closed = sockets.map((socket) => once(socket, 'close') as Promise<[CloseEvent]>)
    await switchPlugin('talker', 'disable')
    for (const close of closed) t.match((await close)[0], { code: 1001, reason: 'The node is stopping.' })
    const refused = new WebSocket(new URL('/talk', node.url))
    await once(refused, 'error')
    await switchPlugin('talker', 'enable')
  }
})
