import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { readKnownScopes } from '../../src/sessions/known-scopes.ts'
import { withStoredState } from '../../src/state/stored-state.ts'
import { startSwitchNode } from '../plugins/switch-node.ts'

const plugin = (id: string) =>
  definePlugin({
    id,
    setup({ routes }) {
      routes((app) => {
        app.get(`/${id}`, { config: { scope: `${id}:read` } }, async () => id)
      })
    },
  })

test('the stored scopes are those of the plugins that run, also after a plugin is switched', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-scopes-'))
  t.teardown(() => rm(dataFolder, { recursive: true, force: true }))
  const stored = () => withStoredState(dataFolder, '@kernel', readKnownScopes, null)
  t.equal(await stored(), null)
  const { switchPlugin } = await startSwitchNode(t, [plugin('notes'), plugin('maps')], { dataFolder })
  t.same(await stored(), ['maps:read', 'notes:read'])
  t.equal((await switchPlugin('maps', 'disable')).status, 200)
  t.same(await stored(), ['notes:read'])
  t.equal((await switchPlugin('maps', 'enable')).status, 200)
  t.same(await stored(), ['maps:read', 'notes:read'])
})
