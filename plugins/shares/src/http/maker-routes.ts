import {
  clientSignal,
  type FilesService,
  type NodeAddress,
  nameOf,
  type RegistryReader,
  type RoutesApp,
  type Static,
  Type,
  type UserDirectory,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { PicturePlans } from '../pictures/picture-plans.ts'
import { sentPicture } from '../pictures/sent-picture.ts'
import { reachOf } from '../reach.ts'
import type { Share } from '../share.ts'
import type { Shares } from '../shares.ts'
import type { UseTable } from '../tables/use-table.ts'
import {
  allShares,
  changedShare,
  madeShare,
  newShare,
  sentPictureView,
  shareChange,
  shareList,
  type shareView,
  useList,
} from './schemas.ts'

interface MakerRoutesServices {
  readonly shares: Shares
  readonly uses: UseTable
  readonly users: UserDirectory
  readonly files: FilesService
  readonly plans: PicturePlans
  readonly address: NodeAddress
  /** The origins that plugins have added. */
  readonly origins: RegistryReader<string>
}

const scope = 'shares'
const path = '/api/shares'
const idOf = Type.Object({ id: Type.String() })

/** Registers `/api/shares`: the links of the person who calls. */
export function makerRoutes(app: RoutesApp, services: MakerRoutesServices): void {
  const { shares, uses, users, files, plans, address, origins } = services
  const reached = (request: FastifyRequest) => {
    const { origin, ...reach } = reachOf(address, origins, request)
    return { urlOf: (token: string) => `${origin}/s/${token}`, reach }
  }
  const logged = (request: FastifyRequest, event: string, { id, kind, userUuid: makerUuid }: Share) => {
    const { username: user, uuid: userUuid } = userOf(request)
    request.log.info(
      {
        event,
        ip: request.ip,
        user,
        userUuid,
        share: id,
        kind,
        ...(makerUuid !== userUuid && { makerUuid }),
      },
      `A link was ${event.replace('share-', '')}.`,
    )
  }

  app.post(
    path,
    {
      config: { scope },
      schema: {
        operationId: 'createShare',
        summary: 'Make a link to a file or folder, for everybody who has its address',
        body: newShare,
        response: { 200: madeShare },
      },
    },
    async (request) => {
      const { path: shared, ...wishes } = request.body
      const { urlOf, reach } = reached(request)
      const { share, token } = await shares.create(userOf(request).uuid, shared, wishes)
      logged(request, 'share-created', share)
      return { id: share.id, url: urlOf(token), ...reach, share: await viewOf(services, share) }
    },
  )
  app.get(
    path,
    {
      config: { scope },
      schema: {
        operationId: 'listShares',
        summary: 'List your links',
        querystring: Type.Object(
          { path: Type.Optional(Type.String({ description: 'Only those of this file or folder.' })) },
          { additionalProperties: false },
        ),
        response: { 200: shareList },
      },
    },
    async (request) => {
      const { path: wanted } = request.query
      const all = await Promise.all(
        shares.ofUser(userOf(request).uuid).map((share) => viewOf(services, share)),
      )
      const { reach } = reached(request)
      const listed =
        wanted === undefined ? all : all.filter((share) => share.path === wanted.normalize('NFC'))
      return { shares: listed, defaultDays: shares.days, maxDays: shares.maxDays, ...reach }
    },
  )
  app.get(
    `${path}/all`,
    {
      config: { access: 'owner', scope },
      schema: {
        operationId: 'listAllShares',
        summary: 'List the links of all users',
        response: { 200: allShares },
      },
    },
    async () => {
      const views: Static<typeof allShares>['shares'] = []
      for (const share of shares.all()) {
        const username = (await users.get(share.userUuid))?.username ?? ''
        views.push({ ...(await viewOf(services, share)), user: { uuid: share.userUuid, username } })
      }
      return { shares: views }
    },
  )
  app.get(
    `${path}/picture`,
    {
      config: { scope, answersLate: true },
      schema: {
        operationId: 'foreseeSharedPicture',
        summary: 'Tell whether guests would get a picture, without places and camera data',
        querystring: Type.Object(
          { path: Type.String({ description: 'A file, or a folder, whose first picture it is then.' }) },
          { additionalProperties: false },
        ),
        response: { 200: sentPictureView },
      },
    },
    async (request, reply) => {
      const { path: wanted } = request.query
      const { uuid } = userOf(request)
      return { picture: await sentPicture({ files, plans }, uuid, wanted, clientSignal(reply)) }
    },
  )
  app.get(
    `${path}/:id/uses`,
    {
      config: { scope },
      schema: {
        operationId: 'listShareUses',
        summary: 'List the last uses of a link',
        params: idOf,
        response: { 200: useList },
      },
    },
    async (request) => {
      const { id } = shares.get(userOf(request), request.params.id)
      return { uses: uses.of(id).map((use) => ({ ...use, at: use.at.toISOString() })) }
    },
  )
  app.patch(
    `${path}/:id`,
    {
      config: { scope },
      schema: {
        operationId: 'changeShare',
        summary: 'Change a link',
        params: idOf,
        body: shareChange,
        response: { 200: changedShare },
      },
    },
    async (request) => {
      const { reopen = false, newAddress = false, ...wishes } = request.body
      // The owner sees and ends the links of others, and changes none.
      const found = shares.get({ ...userOf(request), owner: false }, request.params.id)
      const { urlOf, reach } = reached(request)
      const options = { isReopened: reopen, isRenewed: newAddress }
      const { share, token } = await shares.change(found, wishes, options)
      logged(request, 'share-changed', share)
      return { url: token === null ? null : urlOf(token), ...reach, share: await viewOf(services, share) }
    },
  )
  app.delete(
    `${path}/:id`,
    {
      config: { scope },
      schema: {
        operationId: 'removeShare',
        summary: 'End a link at once, with the downloads and uploads that run by it',
        params: idOf,
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async (request) => {
      const share = shares.get(userOf(request), request.params.id)
      await shares.remove(share)
      logged(request, 'share-revoked', share)
      return { success: true as const }
    },
  )
}

async function viewOf(
  { shares, uses }: Pick<MakerRoutesServices, 'shares' | 'uses'>,
  share: Share,
): Promise<Static<typeof shareView>> {
  const { id, type, kind, created, expires, keepMetadata, askSender, maxBytes, maxFiles } = share
  const { state, path } = await shares.stateOf(share)
  const { last, ...used } = uses.counts(id)
  return {
    id,
    path,
    name: nameOf(path ?? share.path),
    type,
    kind,
    created: created.toISOString(),
    expires: expires.toISOString(),
    state,
    password: share.password !== null,
    keepMetadata,
    askSender,
    maxBytes,
    maxFiles,
    dropped: { files: share.droppedFiles, bytes: share.droppedBytes },
    used: { last: last?.toISOString() ?? null, ...used },
  }
}
