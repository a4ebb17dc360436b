import {
  type LoginProvider,
  type NodeInfo,
  NodekeepError,
  type RegistryReader,
  type RoutesApp,
  Type,
  type User,
  userOf,
  type WebPage,
} from '@nodekeep/plugin-sdk'
import { manifestAddress, manifestOf } from './manifest.ts'
import { longestName, type NodeName } from './node-name.ts'
import type { PageFiles } from './page-files.ts'

const nameOfNode = Type.String({ description: 'The name that the owner gave the node.' })

const PageList = Type.Object({
  name: nameOfNode,
  owner: Type.Boolean({ description: 'Whether the caller is the owner of the node.' }),
  search: Type.Boolean({ description: 'Whether the page of files can search.' }),
  pages: Type.Array(
    Type.Object({
      name: Type.String(),
      title: Type.String(),
      icon: Type.Union([Type.String(), Type.Null()], { description: 'The name of an icon.' }),
      place: Type.Union(
        [Type.Literal('tab'), Type.Literal('side'), Type.Literal('more'), Type.Literal('user')],
        { description: 'Where the navigation has the page.' },
      ),
      module: Type.String({ description: 'The path of the ES module of the page.' }),
      stylesheet: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})

const SignInWays = Type.Object({
  name: nameOfNode,
  providers: Type.Array(Type.String()),
  claimed: Type.Boolean({ description: 'Whether the node has an owner.' }),
  requests: Type.Boolean({ description: 'Whether a person can ask the owner for admission.' }),
  restores: Type.Boolean({ description: 'Whether a node without an owner takes a backup.' }),
})

const GivenName = Type.Object(
  {
    name: Type.Union([Type.String({ minLength: 1, maxLength: longestName, pattern: '\\S' }), Type.Null()], {
      description: 'The name that holds from now on; null for that of the configuration.',
    }),
  },
  { additionalProperties: false },
)

const anyFile = { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }

interface PageRouteServices {
  readonly name: NodeName
  /** The folder with the first page and its files. */
  readonly shell: string
  readonly pages: RegistryReader<WebPage>
  readonly info: NodeInfo
  readonly logins: RegistryReader<LoginProvider>
  readonly files: PageFiles
}

/** The routes of the pages: the first page, its files and its service worker, the ways to sign in, the list of pages, and the files of each. */
export function pageRoutes(
  app: RoutesApp,
  { name: nodeName, shell, pages, info, logins, files }: PageRouteServices,
): void {
  const works = (id: string) => info.plugins().some((plugin) => plugin.id === id)
  const isShown = ({ access, needs = [] }: WebPage, user: User) =>
    (access !== 'owner' || user.owner) && needs.every(works)
  const opened = { access: 'public', publicReason: 'People sign in on this page.' } as const
  const sent = (summary: string, operationId: string) => ({
    summary,
    operationId,
    tags: ['web'],
    response: { 200: anyFile },
  })
  app.get('/', { config: opened, schema: sent('Show the pages', 'showPages') }, (request, reply) =>
    files.send(request, reply, shell, 'index.html'),
  )
  app.get(
    // A service worker answers only for addresses at its own folder and below.
    '/service-worker.js',
    { config: opened, schema: sent('Get the service worker of the pages', 'getServiceWorker') },
    (request, reply) => files.send(request, reply, shell, 'service-worker.js'),
  )
  app.get(
    manifestAddress,
    { config: opened, schema: sent('Get the manifest of the installed app', 'getManifest') },
    (_request, reply) =>
      reply
        .headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
        .type('application/manifest+json')
        .send(JSON.stringify(manifestOf(nodeName.value))),
  )
  app.get(
    '/web/:file',
    {
      config: opened,
      schema: {
        ...sent('Get a file of the first page', 'getWebFile'),
        params: Type.Object({ file: Type.String() }),
      },
    },
    (request, reply) => files.send(request, reply, shell, request.params.file),
  )
  app.get(
    '/api/web/sign-in',
    {
      config: opened,
      schema: {
        summary: 'List the login providers, and what else a person who signs in can do',
        operationId: 'listLoginProviders',
        tags: ['web'],
        response: { 200: SignInWays },
      },
    },
    async () => ({
      name: nodeName.value,
      providers: logins.names(),
      claimed: await info.isClaimed(),
      requests: works('access-requests'),
      restores: works('backup'),
    }),
  )
  app.get(
    '/api/web/pages',
    {
      schema: {
        summary: 'List the pages',
        operationId: 'listPages',
        tags: ['web'],
        response: { 200: PageList },
      },
    },
    async (request) => {
      const user = userOf(request)
      const shown = [...pages].filter(([, page]) => isShown(page, user))
      return {
        name: nodeName.value,
        owner: user.owner,
        search: works('files') && works('search'),
        pages: shown.map(([name, { title, icon = null, place = 'more', module, stylesheet }]) => {
          const pathOf = (file: string) => `/pages/${encodeURIComponent(name)}/${file}`
          return {
            name,
            title,
            icon,
            place,
            module: pathOf(module),
            stylesheet: stylesheet === undefined ? null : pathOf(stylesheet),
          }
        }),
      }
    },
  )
  app.put(
    '/api/web/name',
    {
      config: { access: 'owner' },
      schema: {
        summary: 'Name the node',
        operationId: 'nameNode',
        tags: ['web'],
        body: GivenName,
        response: { 200: Type.Object({ name: nameOfNode }) },
      },
    },
    async (request) => {
      await nodeName.give(request.body.name?.trim() ?? null)
      const { username: user, uuid: userUuid } = userOf(request)
      const event = { event: 'node-named', ip: request.ip, user, userUuid, name: nodeName.value }
      request.log.info(event, 'The owner named the node.')
      return { name: nodeName.value }
    },
  )
  app.get(
    '/pages/:name/*',
    {
      schema: {
        ...sent('Get a file of a page', 'getPageFile'),
        params: Type.Object({ name: Type.String(), '*': Type.String() }),
      },
    },
    (request, reply) => {
      const page = pages.get(request.params.name)
      if (page === undefined || !isShown(page, userOf(request)))
        throw new NodekeepError('NOT_FOUND', 'There is no such page.')
      return files.send(request, reply, page.folder, request.params['*'])
    },
  )
}
