import { definePlugin, Identity } from '@nodekeep/plugin-sdk'

/** The plugin `gateway`: the public side of tunnels. */
export default definePlugin({
  id: 'gateway',
  description: 'Leads clients to nodes that connect to it.',
  requires: { identity: Identity },
  setup() {},
})
