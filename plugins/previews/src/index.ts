import { join } from 'node:path'
import {
  definePlugin,
  FileChanged,
  FileIndex,
  Files,
  HealthChecks,
  PreviewDecoders,
  Previews,
  UserData,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { AskedPreviews } from './asked-previews.ts'
import { PreviewCache } from './cache/preview-cache.ts'
import { configuration } from './configuration.ts'
import { BackgroundPreviews } from './follow/background-previews.ts'
import { IndexFollower } from './follow/index-follower.ts'
import { Sweeps } from './follow/sweeps.ts'
import { previewsHealth } from './health.ts'
import { formatsRoute } from './http/formats-route.ts'
import { photosRoute } from './http/photos-route.ts'
import { previewRoute } from './http/preview-route.ts'
import { statusRoute } from './http/status-route.ts'
import { PictureSandbox } from './picture-sandbox.ts'
import { PreviewMaker } from './preview-maker.ts'
import { PreviewNames } from './preview-names.ts'
import { PreviewStatus } from './status.ts'
import { CacheTable } from './tables/cache-table.ts'
import { ContentTable } from './tables/content-table.ts'
import { EntryTable } from './tables/entry-table.ts'
import { openDatabase } from './tables/open-database.ts'

/** The plugin `previews`: small pictures of files, and a list of photos by date. */
export default definePlugin({
  id: 'previews',
  description: 'Makes small pictures of your photos, and sorts them by date.',
  config: configuration,
  requires: { files: Files, index: FileIndex, users: UserDirectory, decoders: PreviewDecoders },
  contributes: { health: HealthChecks, userData: UserData },
  provides: { previews: Previews },
  setup({ config, files, index, users, decoders, health, userData, ...context }) {
    const { dataDir, sqliteFile, generation, log, events, signal, routes, onServing, onStop } = context
    const database = openDatabase(
      sqliteFile('previews', { inBackups: false, newIfDamaged: 'The node makes all previews again.' }),
    )
    onStop(() => database.close())
    const entries = new EntryTable(database)
    const contents = new ContentTable(database)
    const cached = new CacheTable(database)
    const folder = join(dataDir, 'not-in-backups', 'cache')
    const cache = new PreviewCache({ folder, table: cached, limit: config.cacheBytes, log, signal })
    const erased = new Set<string>()
    const eraseUser = async (userUuid: string) => {
      erased.add(userUuid)
      entries.erase(userUuid)
      contents.erase(userUuid)
      await cache.erase(userUuid)
    }
    userData.add('previews', { erase: eraseUser })

    const names = new PreviewNames(decoders)
    const sandbox = new PictureSandbox(log)
    onStop(() => sandbox.stop())
    health.add('previews', previewsHealth(sandbox))
    const { maxPixels, maxFileSize } = config
    const isUser = (userUuid: string) => !erased.has(userUuid)
    const maker = new PreviewMaker({
      files,
      decoders,
      sandbox,
      contents,
      cache,
      maxPixels,
      isUser,
      log,
      signal,
    })
    const asked = new AskedPreviews({ files, index, contents, cache, maker, maxFileSize })

    const background = new BackgroundPreviews({
      index,
      entries,
      contents,
      cache,
      maker,
      sandbox,
      maxFileSize,
      log,
      signal,
    })
    const onLearned = () => background.begin()
    const follower = new IndexFollower({
      index,
      users,
      entries,
      names,
      maxFileSize,
      isUser,
      onLearned,
      log,
      signal,
    })
    const isFollowed = (userUuid: string) => follower.isComplete(userUuid)
    const status = new PreviewStatus({
      users,
      entries,
      contents,
      cached,
      cache,
      cacheLimit: config.cacheBytes,
      isFollowed,
    })
    routes((app) => {
      previewRoute(app, asked)
      formatsRoute(app, names)
      photosRoute(app, { index, entries, contents, status })
      statusRoute(app, status)
    })

    onServing(() => {
      const known = [...decoders].map(([name, { extensions }]) => [name, extensions])
      if (contents.changeDecoders(JSON.stringify([generation, ...known]))) entries.lookAgain()
      if (!config.background) return
      const sweeps = new Sweeps({
        index,
        users,
        entries,
        contents,
        cache,
        isFollowed,
        eraseUser,
        log,
        signal,
      })
      onStop(async () => {
        await follower.stop()
        await background.stop()
        await sweeps.stop()
      })
      events.on(FileChanged, ({ userUuid }) => {
        background.noteChange()
        follower.notice(userUuid)
      })
      follower.start()
      sweeps.start()
    })
    return {
      previews: {
        async get({ user, path, size, signal }) {
          return asked.get(await asked.versionOf(user, path, signal), size, signal)
        },
        isPicture: (name) => names.isPicture(name),
      },
    }
  },
})
