import { definePlugin, Identity } from '@nodekeep/plugin-sdk'

/** The plugin `overlay-tunnel`: the client of a gateway. */
export default definePlugin({
  id: 'overlay-tunnel',
  description: 'Connects the node to a gateway, which leads clients to it.',
  requires: { identity: Identity },
  setup() {},
})
