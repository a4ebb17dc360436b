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

test('a plugin that is switched off stops answering, and works again when it is switched on', async (t) => {
  const { ask, turn, state } = await startSwitchNode(t, [lone])
  t.equal((await ask('/lone')).status, 200)
  const off = await turn('lone', 'disable')
  t.equal(off.status, 200)
  t.match(await off.json(), { plugin: { id: 'lone', state: 'disabled', reason: 'switched off at run time' } })
  t.equal((await ask('/lone')).status, 404)
  t.equal((await turn('lone', 'disable')).status, 200, 'twice is no error')
  t.match(await (await turn('lone', 'enable')).json(), { plugin: { state: 'active', reason: null } })
  t.equal((await ask('/lone')).status, 200)
  t.equal((await turn('lone', 'enable')).status, 200)
  t.match(state('lone'), { state: 'active', routes: [{ path: '/lone' }, { path: '/lone' }] })
})

test('a plugin whose stop fails can still be switched off and on', async (t) => {
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
  const { turn, state, ask } = await startSwitchNode(t, [stubborn])
  t.equal((await turn('stubborn', 'disable')).status, 200)
  t.match(state('stubborn'), { state: 'disabled', routes: [] })
  t.equal((await turn('stubborn', 'enable')).status, 200)
  t.match(state('stubborn'), { state: 'active' })
  t.equal(await (await ask('/stubborn')).text(), 'here')
})

test('plugins that require it are blocked and come back; plugins with it as optional run without it', async (t) => {
  const { ask, turn, state } = await startSwitchNode(t, [greeter, needy, flexible])
  t.equal(await (await ask('/flexible')).text(), 'hello')
  await turn('greeter', 'disable')
  t.match(state('needy'), { state: 'blocked', reason: /needs the service "test-greeting@1"/ })
  t.match(
    state('needy')?.reason,
    /"greeter" provides it, but was switched off at run time: POST .*greeter\/enable/,
  )
  t.equal((await ask('/needy')).status, 404)
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
  await turn('greeter', 'enable')
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal(await (await ask('/flexible')).text(), 'hello')
})

test('a required plugin cannot be switched off', async (t) => {
  const { ask, turn } = await startSwitchNode(t, [greeter, needy, lone], { required: ['needy'] })
  const direct = await turn('needy', 'disable')
  t.equal(direct.status, 409)
  t.match(await direct.json(), {
    code: 'CONFLICT',
    message: /"needy" is required\. Set "required": false at/,
  })
  const indirect = await turn('greeter', 'disable')
  t.equal(indirect.status, 409)
  t.match(await indirect.json(), { message: '"needy" is required and needs "greeter".' })
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal((await turn('nobody', 'disable')).status, 404)
  t.equal((await turn('nobody', 'enable')).status, 404)
})

test('the last login provider cannot be switched off, nor a plugin that it requires', async (t) => {
  const one = loginOf('one-login')
  const two = loginOf('two-login', { greeting: Greeting })
  const { turn, state } = await startSwitchNode(t, [greeter, one, two])
  t.equal((await turn('one-login', 'disable')).status, 200)
  for (const id of ['two-login', 'greeter']) {
    const refused = await turn(id, 'disable')
    t.equal(refused.status, 409, id)
    t.match(await refused.json(), {
      message: `"${id}" is the last way to sign in. Enable another login provider first.`,
    })
  }
  t.match(state('two-login'), { state: 'active' })
  await turn('one-login', 'enable')
  t.equal((await turn('greeter', 'disable')).status, 200)
})

test('only the owner may switch', async (t) => {
  const { node, turn, state } = await startSwitchNode(t, [lone])
  const path = '/api/system/plugins/lone/disable'
  t.equal((await node.fetch(path, { method: 'POST' })).status, 401)
  const ada = await node.signIn()
  t.equal((await ada.fetch(path, { method: 'POST' })).status, 403)
  t.equal((await ada.fetch('/api/system/plugins')).status, 403)
  t.match(state('lone'), { state: 'active' })
  t.equal((await turn('lone', 'disable')).status, 200)
})

test('the choice survives a restart and can only disable', async (t) => {
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
  await first.turn('greeter', 'disable')
  await first.turn('lone', 'disable')
  await first.stop()

  const second = await boot([greeter, needy, lone])
  t.match(second.state('lone'), { state: 'disabled', reason: 'switched off at run time' })
  t.match(second.state('greeter'), { state: 'disabled' })
  t.match(second.state('needy'), { state: 'blocked' })
  t.match(await (await second.turn('lone', 'enable')).json(), { plugin: { state: 'active' } })
  await second.stop()

  const off = { plugins: { lone: false, greeter: { required: false }, needy: { required: false } } }
  const third = await boot([greeter, needy, lone], off)
  t.match(third.state('lone'), { state: 'disabled', reason: /switched off by the given configuration/ })
  const refused = await third.turn('lone', 'enable')
  t.equal(refused.status, 409)
  t.match(await refused.json(), {
    message: '"lone" is switched off by the given configuration. Enable it there and restart the node.',
  })
  await third.stop()

  const fourth = await boot([greeter, needy, lone], {}, ['needy'])
  t.match(
    fourth.state('greeter'),
    { state: 'active' },
    'a required plugin that needs it wins over the choice',
  )
  t.equal(await (await fourth.ask('/needy')).text(), 'hello')
})

test('switching on tries a failed plugin again', async (t) => {
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
  const { ask, turn, state } = await startSwitchNode(t, [moody, lone])
  t.match(state('moody'), { state: 'failed', phase: 'setup', reason: 'not in the mood, attempt 1' })
  const again = await turn('moody', 'enable')
  t.match(await again.json(), {
    plugin: { state: 'failed', phase: 'setup', reason: 'not in the mood, attempt 2' },
  })
  await turn('moody', 'enable')
  t.match(state('moody'), { state: 'active', phase: null, reason: null })
  t.equal(await (await ask('/moody')).text(), 'at last')
  t.equal((await ask('/lone')).status, 200)
})

test('when a plugin fails in its start, plugins with it as optional run without it', async (t) => {
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
  const { ask, turn, state } = await startSwitchNode(t, [provider, needy, flexible])
  t.match(state('provider'), { state: 'failed', phase: 'start', reason: 'no start today' })
  t.match(state('needy'), {
    state: 'blocked',
    reason: /"provider" provides it, but its state is failed: no start today/,
  })
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
  fails = false
  await turn('provider', 'enable')
  t.equal(await (await ask('/needy')).text(), 'hello')
  t.equal(await (await ask('/flexible')).text(), 'hello')
  fails = true
  await turn('provider', 'disable')
  await turn('provider', 'enable')
  t.match(state('provider'), { state: 'failed', phase: 'start' })
  t.match(state('needy'), { state: 'blocked' })
  t.equal(await (await ask('/flexible')).text(), 'nothing to say')
})

test('concurrent changes run one after the other', async (t) => {
  const { ask, turn, state } = await startSwitchNode(t, [greeter, needy, flexible, lone])
  const calls = Array.from({ length: 24 }, (_, index) =>
    turn(index % 3 === 0 ? 'lone' : 'greeter', index % 2 === 0 ? 'disable' : 'enable'),
  )
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  t.same([...new Set(statuses)], [200])
  await Promise.all([turn('greeter', 'enable'), turn('lone', 'enable')])
  for (const id of ['greeter', 'needy', 'flexible', 'lone']) t.match(state(id), { state: 'active' }, id)
  t.equal(await (await ask('/needy')).text(), 'hello')
})

test('a new plugin cannot take over the service of a plugin that is up', async (t) => {
  const rival = definePlugin({
    id: 'rival',
    provides: { greeting: Greeting },
    setup: () => ({ greeting: { greet: () => 'salut' } }),
  })
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-switch-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const alone = await startSwitchNode(t, [rival], { dataFolder })
  await alone.turn('rival', 'disable')
  await alone.node.stop()
  const { token } = alone
  const { ask, turn, state } = await startSwitchNode(t, [greeter, rival, needy], { dataFolder, token })
  t.match(await (await turn('rival', 'enable')).json(), {
    plugin: { state: 'blocked', reason: /Choose one with "services": \{ "test-greeting": "rival" \}/ },
  })
  t.match(state('greeter'), { state: 'active' })
  t.equal(await (await ask('/needy')).text(), 'hello')
})

test('WebSockets are closed with the reason that the node gives', async (t) => {
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
  const { node, turn } = await startSwitchNode(t, [talker])
  const connect = async () => {
    const socket = new WebSocket(new URL('/talk', node.url))
    await once(socket, 'message')
    return socket
  }
  for (let round = 0; round < 2; round += 1) {
    const sockets = await Promise.all([connect(), connect()])
    const closed = sockets.map((socket) => once(socket, 'close') as Promise<[CloseEvent]>)
    await turn('talker', 'disable')
    for (const close of closed) t.match((await close)[0], { code: 1001, reason: 'The node is stopping.' })
    const refused = new WebSocket(new URL('/talk', node.url))
    await once(refused, 'error')
    await turn('talker', 'enable')
  }
})
