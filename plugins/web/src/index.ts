import { join } from 'node:path'
import { definePlugin, LoginProviders, NodeInfo, Type, WebPages } from '@nodekeep/plugin-sdk'
import { longestName, NodeName } from './node-name.ts'
import { nodePages } from './node-pages.ts'
import { PageFiles } from './page-files.ts'
import { pageRoutes } from './routes.ts'

/** The bundle that `npm run bundle` makes, beside `src` and `dist`. */
const bundle = join(import.meta.dirname, '../bundle')

/** The plugin `web`: pages for people. */
export default definePlugin({
  id: 'web',
  description: 'The pages that you see here.',
  config: Type.Object({
    name: Type.String({
      minLength: 1,
      maxLength: longestName,
      default: 'Nodekeep',
      description:
        'The name of the node, as the pages show it, until the owner gives it another one there. Everybody who reaches the node can read it.',
    }),
  }),
  requires: { pages: WebPages, info: NodeInfo, logins: LoginProviders },
  contributes: { ownPages: WebPages },
  async setup({ config, state, pages, info, logins, ownPages, routes }) {
    const name = await NodeName.open(state, config.name)
    for (const [name, page] of nodePages(bundle)) ownPages.add(name, page)
    const shell = join(bundle, 'shell')
    routes((app) => pageRoutes(app, { name, shell, pages, info, logins, files: new PageFiles() }))
  },
})
