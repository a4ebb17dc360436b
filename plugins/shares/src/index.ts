import { join } from 'node:path'
import {
  Changes,
  definePlugin,
  FileChanged,
  FileIndex,
  Files,
  NodeAddress,
  Previews,
  PublicOrigins,
  UserData,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { Drops } from './drops/drops.ts'
import { StagedDrops } from './drops/staged-drop.ts'
import { Follower } from './follower.ts'
import { Passwords } from './guests/passwords.ts'
import { Places } from './guests/places.ts'
import { RunningAnswers } from './guests/running-answers.ts'
import { SharedFiles } from './guests/shared-files.ts'
import { dropFormRoute, resumableRoutes } from './http/drop-routes.ts'
import { errorPage, guestRoutes } from './http/guest-routes.ts'
import { Guests } from './http/guests.ts'
import { makerRoutes } from './http/maker-routes.ts'
import { PicturePlans } from './pictures/picture-plans.ts'
import { Shares } from './shares.ts'
import { ShareTable } from './tables/share-table.ts'
import { UseTable } from './tables/use-table.ts'

/** Milliseconds between two removals of links and uploads that have ended. */
const sweepMs = 5 * 60 * 1000

/** The stylesheet and the script that `npm run bundle` makes, beside `src` and `dist`. */
const bundle = join(import.meta.dirname, '../bundle')

/** The plugin `shares`: links by which guests read a folder, or upload into it. */
export default definePlugin({
  id: 'shares',
  description: 'Hands a folder out by a link, or collects files by one.',
  config: configuration,
  requires: {
    files: Files,
    index: FileIndex,
    changes: Changes,
    users: UserDirectory,
    address: NodeAddress,
    origins: PublicOrigins,
  },
  optional: { previews: Previews },
  contributes: { userData: UserData },
  setup({ config, files, index, changes, users, address, origins, previews, userData, ...context }) {
    const { dataDir, sqliteFile, restored, log, events, signal, routes, onServing, onStop } = context
    const table = new ShareTable(sqliteFile('shares'))
    onStop(() => table.close())
    const damage = 'The uses of all links are forgotten, and guests begin unfinished uploads again.'
    const uses = new UseTable(sqliteFile('uses', { inBackups: false, newIfDamaged: damage }))
    onStop(() => uses.close())
    // Files have other ids after a restore.
    if (restored !== null) table.forgetEntries()

    const running = new RunningAnswers()
    const passwords = new Passwords()
    const places = new Places({
      files,
      index,
      changes,
      shares: table,
      onGone(share) {
        shares
          .closeGone(share)
          .catch((error) => log.warn({ err: error }, 'Uploads of a link cannot be removed now.'))
      },
    })
    const staged = new StagedDrops(join(dataDir, 'not-in-backups', 'staged'))
    const drops = new Drops({ files, places, shares: table, uses, staged, signal })
    // A node that was killed may have removed a link, and not what is known of it.
    uses.forgetBut(table.all().map(({ id }) => id))
    drops.resume()
    const { maxDays, linksPerUser } = config
    const shares: Shares = new Shares({
      table,
      uses,
      places,
      passwords,
      running,
      files,
      index,
      maxDays,
      linksPerUser,
      endDrops: (share) => drops.end(share),
    })
    userData.add('shares', { erase: (userUuid) => shares.erase(userUuid) })

    const guests = new Guests({ shares: table, passwords, nodeAddress: address })
    const plans = new PicturePlans()
    const shared = new SharedFiles(places, plans)
    routes((app) => makerRoutes(app, { shares, uses, users, files, plans, address, origins }))
    routes(
      (app) => {
        guestRoutes(app, { guests, places, files: shared, drops, uses, running, previews, bundle })
        app.register(async (forms) => dropFormRoute(forms, { guests, drops, running }))
      },
      { prefix: '/s', serializeError: errorPage },
    )
    // Errors of these are for a script.
    routes((app) => resumableRoutes(app, { guests, drops, running }), { prefix: '/s' })

    const follower = new Follower((userUuid) => shares.check(userUuid), log, signal)
    const sweep = async () => {
      try {
        await shares.sweep()
        await drops.sweep()
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'Links that have ended cannot be removed now.')
      }
    }
    onServing(async () => {
      await restored?.acknowledge()
      events.on(FileChanged, ({ userUuid }) => {
        if (table.hasAny(userUuid)) follower.notice(userUuid)
      })
      // A node that was killed may have missed the last changes.
      for (const userUuid of table.users()) follower.notice(userUuid)
      let sweeping = sweep()
      const timer = setInterval(() => {
        sweeping = sweep()
      }, sweepMs).unref()
      onStop(async () => {
        clearInterval(timer)
        await sweeping
      })
    })
  },
})
