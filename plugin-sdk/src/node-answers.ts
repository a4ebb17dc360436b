// `npm run bundle` makes this file.

/**
 * The JSON answers of a node with the default bundle, by method and path, such as `GET /stat`. Times are in the form of ISO 8601.
 */
export interface NodeAnswers {
  'DELETE /api/access-requests/{wallet}': {
    success: true
  }
  'DELETE /api/account/sessions': {
    success: true
    ended: number
  }
  'DELETE /api/account/sessions/{id}': {
    success: true
  }
  'DELETE /api/account/tokens/{id}': {
    success: true
  }
  'DELETE /api/backup/moment': {
    success: boolean
  }
  'DELETE /api/backup/restore': {
    success: boolean
    /**
     * The backup that is not restored.
     */
    backup: string
  }
  'DELETE /api/backup/{filename}': {
    success: boolean
  }
  'DELETE /api/shares/{id}': {
    success: true
  }
  'DELETE /api/sync/devices/{id}': {
    success: boolean
  }
  'DELETE /api/sync/uploads/{id}': {
    success: boolean
  }
  'DELETE /api/users/{uuid}': {
    user: {
      uuid: string
      username: string
      wallet: string
      owner: boolean
      created: string
      /**
       * When the user was added by hand. Such a user may sign in whatever `auth.admission` says.
       */
      added: string | null
      disabled: string | null
      /**
       * When the data of the deleted user is removed.
       */
      deletionDue: string | null
    }
  }
  'DELETE /api/users/{uuid}/sessions': {
    success: true
  }
  'DELETE /api/users/{uuid}/sessions/{id}': {
    success: true
  }
  'GET /api/access-requests': {
    requests: {
      /**
       * The wallet, which was proven.
       */
      wallet: string
      /**
       * The name that the person wants. Nothing proves it.
       */
      username: string
      requested: string
    }[]
  }
  'GET /api/account/sessions': {
    sessions: {
      id: string
      /**
       * The program that signed in.
       */
      label: string
      created: string
      lastUsed: string
      expires: string | null
      /**
       * Whether it is the session of this request.
       */
      current: boolean
    }[]
    /**
     * Days without use after which they end by themselves.
     */
    idleDays: number
  }
  'GET /api/account/tokens': {
    tokens: {
      id: string
      name: string
      scopes: string[]
      created: string
      /**
       * Null if it was never used.
       */
      lastUsed: string | null
      expires: string | null
    }[]
    knownScopes: string[]
    /**
     * Days without use after which they end by themselves.
     */
    idleDays: number
  }
  'GET /api/ai/hosts': {
    /**
     * The host of the server of each AI provider that tells it, such as "127.0.0.1" or "api.openai.com".
     */
    hosts: {
      [k: string]: string
    }
  }
  'GET /api/ai/models': {
    /**
     * The models of each AI provider. The list is empty if the provider does not answer.
     */
    providers: {
      [k: string]: string[]
    }
  }
  'GET /api/ai/providers': {
    providers: {
      name: string
      /**
       * `empty`: it has no models, such as without a key. `failed`: see `problem`. `waiting`: it has not answered yet.
       */
      state: 'works' | 'empty' | 'failed' | 'waiting'
      /**
       * The number of its models.
       */
      models: number
      /**
       * Why it did not list its models, and what the owner can do; null if it did.
       */
      problem: string | null
    }[]
  }
  'GET /api/ai/usage': {
    usage: {
      /**
       * A day of UTC.
       */
      day: string
      provider: string
      model: string
      requests: number
      failed: number
      aborted: number
      inputTokens: number
      outputTokens: number
      /**
       * Requests whose tokens are estimated.
       */
      estimated: number
    }[]
  }
  'GET /api/attention-webhook': {
    /**
     * The host that gets the messages. Null if the configuration names none.
     */
    receiver: string | null
    /**
     * When it took the last message about the node.
     */
    toldAt: string | null
    /**
     * Why the newest message has not arrived. It is sent again.
     */
    problem: string | null
    /**
     * The words that run the commands of the webhook in a shell on the machine of the node, such as `nodekeep attention-webhook`.
     */
    command: string
  }
  'GET /api/backup/list': {
    backups: {
      filename: string
      /**
       * Bytes.
       */
      size: number
      /**
       * The moment of the state.
       */
      created: string
    }[]
  }
  'GET /api/backup/status': {
    running: {
      /**
       * `preparing` or `writing`.
       */
      step: string
      startedAt: string
      /**
       * Files and folders that are in the archive.
       */
      entries: number
      /**
       * Bytes of their content.
       */
      bytes: number
      /**
       * The share that is done, from 0 to 1, estimated by the backup before. Null for the first one.
       */
      share: number | null
    } | null
    last: {
      at: string
      /**
       * Null if it failed.
       */
      filename: string | null
      /**
       * The reason of a failure.
       */
      problem: string | null
    } | null
    /**
     * When the schedule makes the next backup.
     */
    next: string | null
    /**
     * The folder of the backups on the machine of the node.
     */
    folder: string
    stored: {
      /**
       * The number of the backups on this node.
       */
      backups: number
      /**
       * Bytes of all of them together.
       */
      bytes: number
      /**
       * Those that are deleted after the next backup, as `backup.keep` says. Null if it is not set: then all stay.
       */
      deletedNext: string[] | null
      /**
       * Those that are encrypted. The node has no key for them: people give a recovery key.
       */
      encrypted: string[]
    }
    /**
     * The backups that are dated in the future, so they are kept and not counted. They were made while the clock was ahead, or it is behind now.
     */
    ahead: string[]
    /**
     * How the last drill ended.
     */
    drill: {
      /**
       * The backup that was tried out.
       */
      filename: string
      at: string
      /**
       * `passed`: a second node was started on the backup and had everything. `verified`: it is large, all of it was read, and unless there is a problem, a second node had a sample of its files. `failed`: do not rely on it. `skipped`: it could not be tried.
       */
      result: string
      /**
       * The reason of a failure, of a drill that was skipped, or why no node was started on a large backup.
       */
      problem: string | null
      /**
       * How long it took until the restored node answered.
       */
      seconds: number | null
    } | null
    /**
     * Whether each backup is tried out when it is made, as `backup.drill` says.
     */
    drills: boolean
    /**
     * Whether a backup is being tried out.
     */
    isDrilling: boolean
    /**
     * The share of a backup, from 0 to 1, that was read for `POST /api/backup/find` or `POST /api/backup/put-back`. Null while neither runs.
     */
    reading: number | null
    /**
     * The number of recovery keys that open the next backup. With 0, it is not encrypted.
     */
    recipients: number
    /**
     * The words that run the commands of backups in a shell on the machine of the node, such as `nodekeep backup`.
     */
    command: string
    /**
     * When `nodekeep backup rehearse` last proved that somebody has the recovery key.
     */
    rehearsed: string | null
    /**
     * The restore that the next start applies, unless `DELETE /api/backup/restore` comes before.
     */
    planned: {
      backup: string
      /**
       * The moment of the state of the backup.
       */
      moment: string
    } | null
    /**
     * The data that restores have kept, until `nodekeep backup forget-previous`.
     */
    previous: {
      /**
       * The backup that was restored.
       */
      backup: string
      /**
       * Bytes of the data that was there before.
       */
      bytes: number
    }[]
    targets: {
      name: string
      /**
       * When the target last had all backups that it should have, since the start of the node.
       */
      completeAt: string | null
      /**
       * The reason why it has not.
       */
      problem: string | null
    }[]
  }
  'GET /api/files/changes': {
    /**
     * The cursor is not valid any more: list the files again, and go on with the new cursor.
     */
    reset?: true
    /**
     * Oldest first. Missing with "reset".
     */
    changes?: {
      op: 'write' | 'mkdir' | 'delete' | 'move'
      /**
       * Absolute path, such as "/photos/cat.jpg".
       */
      path: string
      /**
       * The former path of a move.
       */
      source?: string
      /**
       * Bytes of a written file.
       */
      size?: number
      /**
       * The entity tag without its quotes.
       */
      revision?: string
      /**
       * SHA-256 of the content, if it is known.
       */
      hash?: string
      /**
       * The device that made the change, if it gave a name; "disk" for another program.
       */
      by?: string
      /**
       * The maker of the change. Missing for other programs, and for changes of a former version.
       */
      maker?: {
        kind: 'session' | 'token' | 'program' | 'plugin'
        /**
         * Of the session, the API token or the plugin; the SHA-256 of a WebAssembly program.
         */
        id: string
        /**
         * The program that signed in, the name of the API token, or the file of the program.
         */
        name?: string
        /**
         * The UUID of the user who asked for it. Missing if a plugin did it by itself.
         */
        user?: string
      }
      /**
       * Changes with the same group belong together, such as those of one upload.
       */
      group?: string
      at: string
    }[]
    /**
     * The position after these changes.
     */
    cursor: string
    /**
     * A mount that does not answer holds later changes back.
     */
    stalled?: {
      mount: string
      since: string
    }
  }
  'GET /api/files/changes/newest': {
    /**
     * Newest first. Only the newest 10,000 changes of your files are looked through.
     */
    changes: {
      op: 'write' | 'mkdir' | 'delete' | 'move'
      /**
       * Absolute path, such as "/photos/cat.jpg".
       */
      path: string
      /**
       * The former path of a move.
       */
      source?: string
      /**
       * Bytes of a written file.
       */
      size?: number
      /**
       * The entity tag without its quotes.
       */
      revision?: string
      /**
       * SHA-256 of the content, if it is known.
       */
      hash?: string
      /**
       * The device that made the change, if it gave a name; "disk" for another program.
       */
      by?: string
      /**
       * The maker of the change. Missing for other programs, and for changes of a former version.
       */
      maker?: {
        kind: 'session' | 'token' | 'program' | 'plugin'
        /**
         * Of the session, the API token or the plugin; the SHA-256 of a WebAssembly program.
         */
        id: string
        /**
         * The program that signed in, the name of the API token, or the file of the program.
         */
        name?: string
        /**
         * The UUID of the user who asked for it. Missing if a plugin did it by itself.
         */
        user?: string
      }
      /**
       * Changes with the same group belong together, such as those of one upload.
       */
      group?: string
      at: string
    }[]
  }
  'GET /api/files/list': {
    /**
     * Sorted by name. Files have all of the properties.
     */
    entries: {
      name: string
      type: 'file' | 'directory'
      /**
       * Bytes of a file.
       */
      size?: number
      /**
       * The entity tag of a file, without its quotes.
       */
      revision?: string
      modified: string
      created?: string
    }[]
    /**
     * The cursor of the next page, null after the last one.
     */
    cursor: string | null
    /**
     * Bytes of the largest file that the node takes.
     */
    maxFileSize: number
    /**
     * The mount of the folder keeps this. All else is gone for good.
     */
    keeps: {
      /**
       * Deleted entries of this folder go to the trash.
       */
      trash: boolean
      /**
       * The content that a write replaces becomes a version.
       */
      versions: boolean
    }
  }
  'GET /api/files/trash': {
    /**
     * Newest first.
     */
    items: {
      id: string
      /**
       * The path that it had.
       */
      path: string
      type: 'file' | 'directory'
      /**
       * Bytes, of a folder of everything in it.
       */
      size: number
      /**
       * Files and folders in it.
       */
      entries: number
      deleted: string
      /**
       * The maker of the change. Missing for other programs, and for changes of a former version.
       */
      maker?: {
        kind: 'session' | 'token' | 'program' | 'plugin'
        /**
         * Of the session, the API token or the plugin; the SHA-256 of a WebAssembly program.
         */
        id: string
        /**
         * The program that signed in, the name of the API token, or the file of the program.
         */
        name?: string
        /**
         * The UUID of the user who asked for it. Missing if a plugin did it by itself.
         */
        user?: string
      }
    }[]
    /**
     * The cursor of the next page, null after the last one.
     */
    cursor: string | null
    /**
     * Days after which an item is deleted for good.
     */
    days: number
  }
  'GET /api/files/uploads': {
    uploads: {
      id: string
      path: string
      /**
       * Bytes that the node has.
       */
      offset: number
      /**
       * Bytes of the file; null if the client has not told it.
       */
      length: number | null
      /**
       * When a client used it last.
       */
      used: string
      expires: string
    }[]
  }
  'GET /api/files/usage': {
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    /**
     * Bytes of all files below it.
     */
    bytes: number
    /**
     * Files and folders below it.
     */
    entries: number
    /**
     * False while the node is still counting: until then, the numbers are too small.
     */
    isComplete: boolean
    /**
     * The largest folders in it, largest first. At most 100.
     */
    folders: {
      name: string
      /**
       * Absolute path, such as "/photos/cat.jpg".
       */
      path: string
      /**
       * Bytes of all files below it.
       */
      bytes: number
      /**
       * Files and folders below it.
       */
      entries: number
    }[]
    /**
     * The room of the storage, null for a folder on several storages, or if its storage does not tell it.
     */
    space: {
      /**
       * Bytes that the node may still store.
       */
      free: number
      /**
       * All bytes.
       */
      total: number
    } | null
    /**
     * The room that the trash and former versions take, of all folders. It counts toward the quota, but not as `bytes`.
     */
    kept: {
      /**
       * Bytes of deleted files and folders.
       */
      trash: number
      /**
       * Bytes of former versions.
       */
      versions: number
    }
    /**
     * How much you may store; null for no limit.
     */
    quota: {
      /**
       * Bytes that you may store.
       */
      bytes: number
      /**
       * Bytes that you take of it: of all files, the trash, former versions, and uploads that are not complete.
       */
      taken: number
    } | null
  }
  'GET /api/files/usage/all': {
    /**
     * Largest first.
     */
    users: {
      uuid: string
      username: string
      /**
       * Bytes of all files below it.
       */
      bytes: number
      /**
       * Files and folders below it.
       */
      entries: number
      /**
       * The room that the trash and former versions take, of all folders. It counts toward the quota, but not as `bytes`.
       */
      kept: {
        /**
         * Bytes of deleted files and folders.
         */
        trash: number
        /**
         * Bytes of former versions.
         */
        versions: number
      }
      /**
       * False while the node is still counting: until then, the numbers are too small.
       */
      isComplete: boolean
      /**
       * Bytes that the user may store; null for no limit.
       */
      quota: number | null
      /**
       * Whether the user has another quota than all users.
       */
      hasOwnQuota: boolean
      mounts: {
        mount: string
        /**
         * Bytes of all files below it.
         */
        bytes: number
        /**
         * Files and folders below it.
         */
        entries: number
        /**
         * False while the node is still counting: until then, the numbers are too small.
         */
        isComplete: boolean
      }[]
    }[]
    mounts: {
      /**
       * Its path.
       */
      mount: string
      /**
       * The name of the storage backend.
       */
      storage: string
      /**
       * Bytes of all files below it.
       */
      bytes: number
      /**
       * Files and folders below it.
       */
      entries: number
      /**
       * The room of the storage, null if it has no limit or does not tell it now.
       */
      space: {
        /**
         * Bytes that the node may still store.
         */
        free: number
        /**
         * All bytes.
         */
        total: number
      } | null
    }[]
  }
  'GET /api/files/versions': {
    /**
     * Newest first. The present content is not among them.
     */
    versions: {
      id: string
      /**
       * Bytes.
       */
      size: number
      /**
       * The entity tag without its quotes.
       */
      revision: string
      modified: string
      replaced: string
      /**
       * The maker of the change that replaced it. Missing if that is not known.
       */
      maker?: {
        kind: 'session' | 'token' | 'program' | 'plugin'
        /**
         * Of the session, the API token or the plugin; the SHA-256 of a WebAssembly program.
         */
        id: string
        /**
         * The program that signed in, the name of the API token, or the file of the program.
         */
        name?: string
        /**
         * The UUID of the user who asked for it. Missing if a plugin did it by itself.
         */
        user?: string
      }
      /**
       * SHA-256 of the content, if it is known.
       */
      sha256?: string
    }[]
    /**
     * The cursor of the next page, null after the last one.
     */
    cursor: string | null
  }
  'GET /api/ipfs/publications': {
    /**
     * Those that are being added, those that have failed, then the newest first.
     */
    publications: {
      id: string
      /**
       * Absolute path, such as "/photos/cat.jpg".
       */
      path: string
      /**
       * Bytes of content.
       */
      size: number
      /**
       * Files in it.
       */
      files: number
      cid: string | null
      publishedAt: string | null
      url: string | null
      /**
       * "changed": the path has other content now. "gone": the path has nothing now. What was published stays in both cases. "missing": the node does not have the content any more. "failed": it could not be added.
       */
      state: 'adding' | 'failed' | 'published' | 'changed' | 'gone' | 'missing'
      /**
       * Bytes that were added so far, with "adding".
       */
      addedBytes?: number
      /**
       * The reason, with "failed".
       */
      problem?: string
    }[]
    /**
     * Bytes that they take. What several have in common counts once.
     */
    bytes: number
  }
  'GET /api/ipfs/verify': {
    /**
     * Bytes that were read so far, and all bytes. Null if none runs.
     */
    running: {
      bytes: number
      of: number
    } | null
    last: {
      /**
       * When it ended.
       */
      at: string
      blocks: number
      bytes: number
      damagedBlocks: number
      /**
       * At most 100 of the damaged blocks.
       */
      damaged: {
        cid: string
        /**
         * Files on the backend that have the block, below the uuid of their user.
         */
        paths: string[]
        /**
         * The ids of publications that have the block.
         */
        publications: string[]
      }[]
      /**
       * Why it ended before it had read everything.
       */
      problem: string | null
    } | null
  }
  'GET /api/node-history/days': {
    /**
     * The oldest one first. Those without a running node are missing.
     */
    periods: {
      /**
       * In UTC.
       */
      begins: string
      /**
       * Bytes that were free on the disk with the data folder, at the end of the period.
       */
      free: number | null
      /**
       * Bytes of that disk.
       */
      total: number | null
      /**
       * Bytes of the files of all users, at the end of the period.
       */
      files: number | null
      /**
       * The share of the processor time of the machine that was used, from 0 to 1.
       */
      load: number | null
      /**
       * Requests to the node.
       */
      requests: number
    }[]
    /**
     * In how many days the disk is full if it goes on filling as in the last 30 days. Null if it does not, or if too little is known.
     */
    fullInDays: number | null
  }
  'GET /api/node-history/hours': {
    /**
     * The oldest one first. Those without a running node are missing.
     */
    periods: {
      /**
       * In UTC.
       */
      begins: string
      /**
       * Bytes that were free on the disk with the data folder, at the end of the period.
       */
      free: number | null
      /**
       * Bytes of that disk.
       */
      total: number | null
      /**
       * Bytes of the files of all users, at the end of the period.
       */
      files: number | null
      /**
       * The share of the processor time of the machine that was used, from 0 to 1.
       */
      load: number | null
      /**
       * Requests to the node.
       */
      requests: number
    }[]
    /**
     * In how many days the disk is full if it goes on filling as in the last 30 days. Null if it does not, or if too little is known.
     */
    fullInDays: number | null
  }
  'GET /api/overlay/status': {
    /**
     * Base58 of the node's Ed25519 public key.
     */
    nodeId: string
    /**
     * `did:overlay:<nodeId>`
     */
    did: string
    /**
     * Whether a connection from outside has reached the node through the network, and still would.
     */
    connected: boolean
    /**
     * Whether a gateway passes connections on to the node.
     */
    proxyEnabled: boolean
    /**
     * The port that the gateway allocated for the node; 0 without one.
     */
    allocatedPort: number
    /**
     * The https addresses by which people reach the node from outside, through the network or as the configuration says.
     */
    addresses: string[]
    /**
     * Whether TLS ends on the node. Then a gateway cannot read what it passes on.
     */
    endsTls: boolean
  }
  'GET /api/previews/formats': {
    /**
     * Extensions of the names of pictures, such as "jpg".
     */
    pictures: string[]
    /**
     * Extensions of the names of audio files, which may have a cover picture.
     */
    sounds: string[]
  }
  'GET /api/previews/photo': {
    /**
     * Null for a file that is no picture, or that the node has not looked at yet.
     */
    photo: {
      path: string
      name: string
      /**
       * Bytes.
       */
      size: number
      modified: string | null
      /**
       * When it was taken, by the clock of the camera, such as "2026-05-01T12:00:00".
       */
      taken: string | null
      /**
       * The photos are sorted by it: `taken`, otherwise `modified`.
       */
      date: string
      /**
       * Pixels, upright.
       */
      width: number
      /**
       * Pixels, upright.
       */
      height: number
      /**
       * Where it was taken, in degrees.
       */
      place: {
        latitude: number
        longitude: number
      } | null
      camera: string | null
    } | null
  }
  'GET /api/previews/photos': {
    photos: {
      path: string
      name: string
      /**
       * Bytes.
       */
      size: number
      modified: string | null
      /**
       * When it was taken, by the clock of the camera, such as "2026-05-01T12:00:00".
       */
      taken: string | null
      /**
       * The photos are sorted by it: `taken`, otherwise `modified`.
       */
      date: string
      /**
       * Pixels, upright.
       */
      width: number
      /**
       * Pixels, upright.
       */
      height: number
      /**
       * Where it was taken, in degrees.
       */
      place: {
        latitude: number
        longitude: number
      } | null
      camera: string | null
    }[]
    /**
     * For `after` of the next page; null after the last one.
     */
    next: string | null
    /**
     * Whether the node has looked at all files of the user.
     */
    isComplete: boolean
  }
  'GET /api/previews/photos/months': {
    months: {
      /**
       * Such as "2026-05".
       */
      month: string
      /**
       * Those whose files are gone since a moment ago count, too.
       */
      photos: number
    }[]
    /**
     * Whether the node has looked at all files of the user.
     */
    isComplete: boolean
  }
  'GET /api/previews/status': {
    /**
     * Files that were not looked at yet.
     */
    waiting: number
    /**
     * Contents of which previews were made.
     */
    made: number
    /**
     * Contents without a preview, by the reason: `broken`, `crash`, `memory`, `no-cover`, `pixels`, `time`.
     */
    failed: {
      [k: string]: number
    }
    /**
     * Bytes of the previews that are kept.
     */
    cacheBytes: number
    /**
     * Most bytes of the previews of all users.
     */
    cacheLimit: number
    /**
     * Whether all files were looked at.
     */
    isComplete: boolean
  }
  'GET /api/search': {
    entries: {
      path: string
      name: string
      type: 'file' | 'folder'
      /**
       * Bytes; for a folder, those of all files below it.
       */
      size: number
      /**
       * Null for a folder, and where it is not known.
       */
      modified: string | null
      match: 'name' | 'content'
      /**
       * Of a match of the content, if it could be made in time.
       */
      snippet:
        | {
            text: string
            isMatch: boolean
          }[]
        | null
    }[]
    /**
     * The `after` of the next page; null after the last one.
     */
    next: string | null
    /**
     * Whether all files can be found, but for those that failed: the search follows changes in the background.
     */
    isComplete: boolean
    /**
     * Files that cannot be found by their words yet.
     */
    waiting: number
  }
  'GET /api/search/status': {
    /**
     * Files that cannot be found by their words yet.
     */
    waiting: number
    /**
     * Files that can be found by their words.
     */
    indexed: number
    /**
     * Files that cannot, by the reason: `too-large`, `refused` (damaged or encrypted), `time`, `memory`, `ended`, `unreadable`.
     */
    failed: {
      [k: string]: number
    }
    /**
     * Bytes that the index takes.
     */
    bytes: number
    /**
     * Whether all files can be found, but for those that failed: the search follows changes in the background.
     */
    isComplete: boolean
  }
  'GET /api/shares': {
    /**
     * The newest first.
     */
    shares: {
      id: string
      /**
       * Where it is now; null if it is gone.
       */
      path: string | null
      name: string
      type: 'file' | 'directory'
      /**
       * Guests `read`, upload without seeing anything (`drop`), or do `both`, and see the files of other guests. A file can only be read.
       */
      kind: 'read' | 'drop' | 'both'
      created: string
      expires: string
      /**
       * `gone`: the file or folder is deleted, and the link is closed. `back`: it is there again, and the link is closed until its maker opens it again.
       */
      state: 'open' | 'expired' | 'gone' | 'back'
      /**
       * Whether the link has a password.
       */
      password: boolean
      keepMetadata: boolean
      askSender: boolean
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxBytes: number | null
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxFiles: number | null
      /**
       * Uploads so far. They count toward the limits, also when they were deleted.
       */
      dropped: {
        files: number
        bytes: number
      }
      used: {
        last: string | null
        visits: number
        downloads: number
        uploads: number
        /**
         * Bytes that guests downloaded and uploaded.
         */
        bytes: number
      }
    }[]
    /**
     * Days for which a link works by default.
     */
    defaultDays: number
    /**
     * Most days for which a link may work.
     */
    maxDays: number
    /**
     * From where the address of the node can be reached.
     */
    reach: 'everywhere' | 'network' | 'machine'
    /**
     * A sentence for the maker if others cannot reach the address.
     */
    note: string | null
  }
  'GET /api/shares/all': {
    /**
     * The newest first.
     */
    shares: {
      id: string
      /**
       * Where it is now; null if it is gone.
       */
      path: string | null
      name: string
      type: 'file' | 'directory'
      /**
       * Guests `read`, upload without seeing anything (`drop`), or do `both`, and see the files of other guests. A file can only be read.
       */
      kind: 'read' | 'drop' | 'both'
      created: string
      expires: string
      /**
       * `gone`: the file or folder is deleted, and the link is closed. `back`: it is there again, and the link is closed until its maker opens it again.
       */
      state: 'open' | 'expired' | 'gone' | 'back'
      /**
       * Whether the link has a password.
       */
      password: boolean
      keepMetadata: boolean
      askSender: boolean
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxBytes: number | null
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxFiles: number | null
      /**
       * Uploads so far. They count toward the limits, also when they were deleted.
       */
      dropped: {
        files: number
        bytes: number
      }
      used: {
        last: string | null
        visits: number
        downloads: number
        uploads: number
        /**
         * Bytes that guests downloaded and uploaded.
         */
        bytes: number
      }
      user: {
        uuid: string
        username: string
      }
    }[]
  }
  'GET /api/shares/picture': {
    /**
     * Null if there is none.
     */
    picture: {
      path: string
      /**
       * Null for a picture that is sent.
       */
      refused: ('format' | 'broken' | 'large' | 'sidecar') | null
    } | null
  }
  'GET /api/shares/{id}/uses': {
    /**
     * The last ones, the newest first.
     */
    uses: {
      kind: 'visit' | 'download' | 'upload'
      at: string
      /**
       * The network of the address, such as "203.0.113.0/24".
       */
      network: string
      /**
       * Visits or downloads from this network within an hour.
       */
      times: number
      bytes: number
      /**
       * The name of an uploaded file, as the guest sent it.
       */
      name: string | null
      /**
       * The name that the guest gave. Nothing proves it.
       */
      sender: string | null
    }[]
  }
  'GET /api/sync/blocks': {
    /**
     * SHA-256 in hexadecimal.
     */
    sha256: string
    /**
     * Bytes.
     */
    size: number
    /**
     * All blocks of the file, in order.
     *
     * @maxItems 32768
     */
    blocks: {
      /**
       * SHA-256 in hexadecimal.
       */
      sha256: string
      /**
       * Bytes.
       */
      size: number
    }[]
  }
  'GET /api/sync/client': {
    /**
     * Where the node offers it.
     */
    path: string
    name: string
    version: string
    /**
     * Bytes.
     */
    size: number
    /**
     * SHA-256 in hexadecimal.
     */
    sha256: string
    /**
     * The oldest major version of Node that runs it.
     */
    node: number
  }
  'GET /api/sync/devices': {
    devices: {
      id: string
      name: string
      createdAt: string
      /**
       * When it was last connected.
       */
      seenAt: string
      connected: boolean
    }[]
  }
  'GET /api/sync/uploads/{id}': {
    id: string
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    /**
     * Bytes.
     */
    size: number
    /**
     * SHA-256 in hexadecimal.
     */
    sha256: string
    /**
     * The indexes of the blocks to send. Equal blocks are named once.
     */
    missing: number[]
    /**
     * The node forgets the upload then.
     */
    expires: string
  }
  'GET /api/system/health': {
    status: string
    database: string
    ipfs: string
    /**
     * Seconds.
     */
    uptime: number
    checks: {
      [k: string]: {
        ok: boolean
        state: string
        /**
         * Sentences for the owner: what is wrong, and what to do.
         */
        message?: string
      }
    }
    /**
     * All that needs the owner: failures, then warnings.
     */
    attention: {
      /**
       * The name of the check.
       */
      name: string
      /**
       * Whether it is only a warning.
       */
      ok: boolean
      state: string
      /**
       * Sentences for the owner: what is wrong, and what to do.
       */
      message: string
    }[]
  }
  'GET /api/system/plugins': {
    plugins: {
      id: string
      description: string
      package: string | null
      version: string | null
      sdk: string | null
      /**
       * disabled, blocked, active, degraded, failed or stopped
       */
      state: string
      phase: string | null
      reason: string | null
      required: boolean
      /**
       * The file and line, or variable, that names the plugin.
       */
      configuredAt: string
      requires: string[]
      optional: string[]
      provides: string[]
      contributes: string[]
      routes: {
        method: string
        path: string
        /**
         * user, owner or public
         */
        access: string
        publicReason: string | null
        scope: string | null
      }[]
    }[]
  }
  'GET /api/update/details': {
    /**
     * When the source of updates last answered.
     */
    checkedAt: string | null
    /**
     * Why the last check failed.
     */
    checkProblem: string | null
    /**
     * Whether new versions are installed without a person.
     */
    automatic: boolean
    /**
     * Why this node cannot install updates, and what to do instead.
     */
    installProblem: string | null
    /**
     * The version to which the node can go back, with the data as it is then.
     */
    wayBack: {
      version: string
      /**
       * The time until which the node can go back.
       */
      until: string
      /**
       * The parts of the configuration that keep the version from starting, such as a key that it does not know. Only the owner sees them.
       */
      problems: string[]
    } | null
    /**
     * The end of the probation of a new version. If the version does not work until then, the node goes back.
     */
    probationUntil: string | null
    /**
     * A newer version after which there would be no way back to this one.
     */
    withoutWayBack: string | null
    /**
     * Copies of all databases from directly before the last update, for a person. Only the owner sees them.
     */
    copies: {
      /**
       * The version that started after they were made.
       */
      before: string
      folder: string
      bytes: number
      /**
       * The time until which they stay, unless an update replaces them.
       */
      until: string
    }[]
  }
  'GET /api/update/history': {
    /**
     * The newest first.
     */
    attempts: {
      from: string
      to: string
      startedAt: string
      /**
       * Null while it runs.
       */
      endedAt: string | null
      /**
       * `running`, `installed`, `failed`: clients never reached the new version, or `went back`: the node left a version that clients had reached.
       */
      result: string
      /**
       * Why it failed, or why the node went back.
       */
      reason: string | null
    }[]
  }
  'GET /api/update/progress': {
    isUpdating: boolean
    /**
     * For people: the step and its share, or how the last update ended.
     */
    progress: string
    /**
     * The step that runs. `null` while no update runs.
     */
    step: ('checking' | 'downloading' | 'trying' | 'changing' | 'going back') | null
    /**
     * The share of the update that is done. `null` while no update runs.
     */
    percent: number | null
  }
  'GET /api/update/status': {
    currentVersion: string
    /**
     * The current version if no newer one is known.
     */
    latestVersion: string
    updateAvailable: boolean
    /**
     * Markdown; empty if no newer version is known.
     */
    releaseNotes: string
  }
  'GET /api/update/version': {
    version: string
    /**
     * Empty if nothing records it, as in copied sources.
     */
    commit: string
    /**
     * From sources, the date of the commit. 1970-01-01 if nothing records it.
     */
    buildDate: string
  }
  'GET /api/users': {
    users: {
      uuid: string
      username: string
      wallet: string
      owner: boolean
      created: string
      /**
       * When the user was added by hand. Such a user may sign in whatever `auth.admission` says.
       */
      added: string | null
      disabled: string | null
      /**
       * When the data of the deleted user is removed.
       */
      deletionDue: string | null
      /**
       * The last sign-in, or the last use of a session or API token that has not ended, to the minute. Null for a user who never came.
       */
      lastSeen: string | null
    }[]
  }
  'GET /api/users/{uuid}': {
    user: {
      uuid: string
      username: string
      wallet: string
      owner: boolean
      created: string
      /**
       * When the user was added by hand. Such a user may sign in whatever `auth.admission` says.
       */
      added: string | null
      disabled: string | null
      /**
       * When the data of the deleted user is removed.
       */
      deletionDue: string | null
    }
  }
  'GET /api/users/{uuid}/sessions': {
    sessions: {
      id: string
      /**
       * The program that signed in.
       */
      label: string
      created: string
      lastUsed: string
      expires: string | null
      /**
       * Whether it is the session of this request.
       */
      current: boolean
    }[]
    tokens: {
      id: string
      name: string
      scopes: string[]
      created: string
      /**
       * Null if it was never used.
       */
      lastUsed: string | null
      expires: string | null
    }[]
  }
  'GET /api/wasm/exports': {
    exports: {
      name: string
      parameters: ('i32' | 'i64' | 'f32' | 'f64')[]
      results: ('i32' | 'i64' | 'f32' | 'f64')[]
    }[]
  }
  'GET /api/web/pages': {
    /**
     * The name that the owner gave the node.
     */
    name: string
    /**
     * Whether the caller is the owner of the node.
     */
    owner: boolean
    /**
     * Whether the page of files can search.
     */
    search: boolean
    pages: {
      name: string
      title: string
      /**
       * The name of an icon.
       */
      icon: string | null
      /**
       * Where the navigation has the page.
       */
      place: 'tab' | 'side' | 'more' | 'user'
      /**
       * The path of the ES module of the page.
       */
      module: string
      stylesheet: string | null
    }[]
  }
  'GET /api/web/sign-in': {
    /**
     * The name that the owner gave the node.
     */
    name: string
    providers: string[]
    /**
     * Whether the node has an owner.
     */
    claimed: boolean
    /**
     * Whether a person can ask the owner for admission.
     */
    requests: boolean
    /**
     * Whether a node without an owner takes a backup.
     */
    restores: boolean
  }
  'GET /auth/restore': {
    /**
     * The share of the backup that was read, from 0 to 1. Null while none is read.
     */
    reading: number | null
  }
  'GET /auth/siwe/nonce': {
    /**
     * The nonce for the message. It can be used for one sign-in.
     */
    nonce: string
    /**
     * When the nonce expires.
     */
    expires: string
    /**
     * The time of the node, for the message: the clock of the device or of the node may be wrong.
     */
    issuedAt: string
    domain: string
    uri: string
    chainId: number
    statement: string
  }
  'GET /health': {
    status: string
    database: string
    ipfs: string
    /**
     * Seconds.
     */
    uptime: number
  }
  'GET /openapi.json': {
    /**
     * The address of this request, then the other public addresses of the node.
     */
    servers: {
      url: string
    }[]
    [k: string]: unknown
  }
  'GET /readdir': {
    name: string
    type: 'file' | 'directory'
    size?: number
    modified: string
  }[]
  'GET /stat': {
    name: string
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    type: 'file' | 'directory'
    size: number
    modified: string
    created: string
  }
  'GET /v1/models': {
    object: 'list'
    data: {
      /**
       * Provider and model, such as "openai/gpt-5".
       */
      id: string
      object: 'model'
      created: number
      /**
       * The provider.
       */
      owned_by: string
    }[]
  }
  'GET /v1/models/{wildcard}': {
    /**
     * Provider and model, such as "openai/gpt-5".
     */
    id: string
    object: 'model'
    created: number
    /**
     * The provider.
     */
    owned_by: string
  }
  'GET /whoami': {
    user:
      | {
          uuid: string
          username: string
          wallet: string
          authenticated: true
        }
      | {
          authenticated: false
        }
  }
  'PATCH /api/account': {
    user: {
      uuid: string
      username: string
      wallet: string
      authenticated: true
    }
  }
  'PATCH /api/shares/{id}': {
    /**
     * The new address, if there is one.
     */
    url: string | null
    /**
     * From where the address of the node can be reached.
     */
    reach: 'everywhere' | 'network' | 'machine'
    /**
     * A sentence for the maker if others cannot reach the address.
     */
    note: string | null
    share: {
      id: string
      /**
       * Where it is now; null if it is gone.
       */
      path: string | null
      name: string
      type: 'file' | 'directory'
      /**
       * Guests `read`, upload without seeing anything (`drop`), or do `both`, and see the files of other guests. A file can only be read.
       */
      kind: 'read' | 'drop' | 'both'
      created: string
      expires: string
      /**
       * `gone`: the file or folder is deleted, and the link is closed. `back`: it is there again, and the link is closed until its maker opens it again.
       */
      state: 'open' | 'expired' | 'gone' | 'back'
      /**
       * Whether the link has a password.
       */
      password: boolean
      keepMetadata: boolean
      askSender: boolean
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxBytes: number | null
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxFiles: number | null
      /**
       * Uploads so far. They count toward the limits, also when they were deleted.
       */
      dropped: {
        files: number
        bytes: number
      }
      used: {
        last: string | null
        visits: number
        downloads: number
        uploads: number
        /**
         * Bytes that guests downloaded and uploaded.
         */
        bytes: number
      }
    }
  }
  'PATCH /api/users/{uuid}': {
    user: {
      uuid: string
      username: string
      wallet: string
      owner: boolean
      created: string
      /**
       * When the user was added by hand. Such a user may sign in whatever `auth.admission` says.
       */
      added: string | null
      disabled: string | null
      /**
       * When the data of the deleted user is removed.
       */
      deletionDue: string | null
    }
  }
  'POST /api/account/sign-in-codes': {
    /**
     * Three groups of four digits and letters. It can be used for one sign-in.
     */
    code: string
    /**
     * When the code expires, by the clock of the node.
     */
    expires: string
    /**
     * Seconds until the code expires, for clients with another clock.
     */
    expiresIn: number
  }
  'POST /api/account/tokens': {
    token: string
    details: {
      id: string
      name: string
      scopes: string[]
      created: string
      /**
       * Null if it was never used.
       */
      lastUsed: string | null
      expires: string | null
    }
  }
  'POST /api/ai/chat': {
    message: {
      role: 'assistant'
      content: string
    }
    provider: string
    model: string
    /**
     * "stop", "length", "tool_calls" or "content_filter".
     */
    finishReason: string
    /**
     * Tokens as the provider counted them, or null if it did not.
     */
    usage: {
      inputTokens: number
      outputTokens: number
    } | null
  }
  'POST /api/attention-webhook/test': {
    receiver: string
  }
  'POST /api/backup/create': {
    success: boolean
    filename: string
    size: number
  }
  'POST /api/backup/find': {
    /**
     * How many were found.
     */
    count: number
    /**
     * The first of them.
     *
     * @maxItems 200
     */
    found: {
      userUuid: string
      /**
       * As it was in the backup.
       */
      username: string
      /**
       * As the user saw it.
       */
      path: string
      type: 'file' | 'directory'
      /**
       * Bytes; 0 for a folder.
       */
      size: number
      modified: string
    }[]
  }
  'POST /api/backup/put-back': {
    /**
     * Where it is now.
     */
    path: string
  }
  'POST /api/backup/restore': {
    success: boolean
    /**
     * The name of the prepared restore.
     */
    prepared: string
    /**
     * Whether the next start of the node applies it.
     */
    planned: boolean
    /**
     * The backup whose restore was planned before, and is not any more.
     */
    replaces: string | null
    /**
     * Whether `restart` works here.
     */
    supervised: boolean
    /**
     * The moment of the state of the backup.
     */
    moment: string
    /**
     * Names of users whom only the backup has.
     */
    addedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * Names of users whom only the node has.
     */
    removedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * Users of both who have another name or another wallet in the backup.
     */
    changedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: {
        present: {
          username: string
          /**
           * The wallet with which the user signs in.
           */
          wallet: string
        }
        restored: {
          username: string
          /**
           * The wallet with which the user signs in.
           */
          wallet: string
        }
      }[]
    }
    owner: {
      /**
       * The present owner.
       */
      present: {
        username: string
        /**
         * The wallet with which the user signs in.
         */
        wallet: string
      } | null
      /**
       * The owner in the backup.
       */
      restored: {
        username: string
        /**
         * The wallet with which the user signs in.
         */
        wallet: string
      } | null
    }
    /**
     * Plugins whose state is another one, or that have files or databases, which are replaced.
     */
    plugins: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * `same`: the identity of the backup, which the node has now. `another`: the node takes it over, and the node that had it must not run any more. `new`: a new one. `present`: the backup has none.
     */
    identity: string
  }
  'POST /api/files/check': {
    /**
     * One for each file of the request, in their order.
     */
    files: {
      /**
       * `stored`: a file with these bytes is here, and was read now. `damaged`: the bytes of the file that had this content differ now. `unreadable`: a file that may have it cannot be read now. `changed`: the file that had it is being changed, or was. `unlisted`: the node has not listed all files yet. `shorter` and `other`: no file has it; one of this name is shorter, or has other bytes. `absent`: none of this. `pending`: ask again for this file, the node still reads.
       */
      state:
        | 'stored'
        | 'damaged'
        | 'unreadable'
        | 'changed'
        | 'unlisted'
        | 'shorter'
        | 'other'
        | 'absent'
        | 'pending'
      /**
       * The file that the state is about; null for `unlisted`, `absent` and `pending`.
       */
      path: string | null
      /**
       * Of a stored file: the newest backup with its content that was tried out.
       */
      backup: {
        /**
         * The moment of its state.
         */
        created: string
        /**
         * When it was tried out.
         */
        tried: string
      } | null
    }[]
  }
  'POST /api/files/copy': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'POST /api/files/trash/delete': {
    success: boolean
  }
  'POST /api/files/trash/empty': {
    success: boolean
  }
  'POST /api/files/trash/restore': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'POST /api/files/undo': {
    success: boolean
    /**
     * The changes that were taken back.
     */
    changes: number
  }
  'POST /api/files/versions/delete': {
    success: boolean
  }
  'POST /api/files/versions/restore': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'POST /api/ipfs/import': {
    /**
     * The file or folder. A name that was taken has a number.
     */
    path: string
    cid: string
    files: number
    /**
     * Of all files.
     */
    bytes: number
    /**
     * Symbolic links. They are left out.
     */
    symlinks: number
  }
  'POST /api/ipfs/publish': {
    id: string
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    /**
     * Bytes of content.
     */
    size: number
    /**
     * Files in it.
     */
    files: number
    /**
     * The address of the content, which proves it.
     */
    cid: string
    publishedAt: string
    /**
     * Where everybody can read it: a URL with the name of a file as "filename"; if the node has no public address, its path at the node.
     */
    url: string
  }
  'POST /api/ipfs/verify': {
    /**
     * Bytes that were read so far, and all bytes. Null if none runs.
     */
    running: {
      bytes: number
      of: number
    } | null
    last: {
      /**
       * When it ended.
       */
      at: string
      blocks: number
      bytes: number
      damagedBlocks: number
      /**
       * At most 100 of the damaged blocks.
       */
      damaged: {
        cid: string
        /**
         * Files on the backend that have the block, below the uuid of their user.
         */
        paths: string[]
        /**
         * The ids of publications that have the block.
         */
        publications: string[]
      }[]
      /**
       * Why it ended before it had read everything.
       */
      problem: string | null
    } | null
  }
  'POST /api/ipfs/withdraw': {
    id: string
  }
  'POST /api/shares': {
    id: string
    /**
     * The address. Only its hash is stored, so it is told once.
     */
    url: string
    /**
     * From where the address of the node can be reached.
     */
    reach: 'everywhere' | 'network' | 'machine'
    /**
     * A sentence for the maker if others cannot reach the address.
     */
    note: string | null
    share: {
      id: string
      /**
       * Where it is now; null if it is gone.
       */
      path: string | null
      name: string
      type: 'file' | 'directory'
      /**
       * Guests `read`, upload without seeing anything (`drop`), or do `both`, and see the files of other guests. A file can only be read.
       */
      kind: 'read' | 'drop' | 'both'
      created: string
      expires: string
      /**
       * `gone`: the file or folder is deleted, and the link is closed. `back`: it is there again, and the link is closed until its maker opens it again.
       */
      state: 'open' | 'expired' | 'gone' | 'back'
      /**
       * Whether the link has a password.
       */
      password: boolean
      keepMetadata: boolean
      askSender: boolean
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxBytes: number | null
      /**
       * Of uploads; null if guests upload nothing.
       */
      maxFiles: number | null
      /**
       * Uploads so far. They count toward the limits, also when they were deleted.
       */
      dropped: {
        files: number
        bytes: number
      }
      used: {
        last: string | null
        visits: number
        downloads: number
        uploads: number
        /**
         * Bytes that guests downloaded and uploaded.
         */
        bytes: number
      }
    }
  }
  'POST /api/sync/hashes': {
    /**
     * The first files of the request, at least one. Ask again for the others.
     */
    hashes: {
      /**
       * Absolute path, such as "/photos/cat.jpg".
       */
      path: string
      /**
       * The entity tag of the file, without its quotes.
       */
      revision: string
      /**
       * null if the file no longer has the revision.
       */
      sha256: string | null
    }[]
  }
  'POST /api/sync/uploads': {
    id: string
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    /**
     * Bytes.
     */
    size: number
    /**
     * SHA-256 in hexadecimal.
     */
    sha256: string
    /**
     * The indexes of the blocks to send. Equal blocks are named once.
     */
    missing: number[]
    /**
     * The node forgets the upload then.
     */
    expires: string
  }
  'POST /api/sync/uploads/{id}/commit': {
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
    /**
     * The entity tag of the file, without its quotes.
     */
    revision: string
    /**
     * Bytes.
     */
    size: number
    modified: string
  }
  'POST /api/system/plugins/{id}/disable': {
    plugin: {
      id: string
      description: string
      package: string | null
      version: string | null
      sdk: string | null
      /**
       * disabled, blocked, active, degraded, failed or stopped
       */
      state: string
      phase: string | null
      reason: string | null
      required: boolean
      /**
       * The file and line, or variable, that names the plugin.
       */
      configuredAt: string
      requires: string[]
      optional: string[]
      provides: string[]
      contributes: string[]
      routes: {
        method: string
        path: string
        /**
         * user, owner or public
         */
        access: string
        publicReason: string | null
        scope: string | null
      }[]
    }
  }
  'POST /api/system/plugins/{id}/enable': {
    plugin: {
      id: string
      description: string
      package: string | null
      version: string | null
      sdk: string | null
      /**
       * disabled, blocked, active, degraded, failed or stopped
       */
      state: string
      phase: string | null
      reason: string | null
      required: boolean
      /**
       * The file and line, or variable, that names the plugin.
       */
      configuredAt: string
      requires: string[]
      optional: string[]
      provides: string[]
      contributes: string[]
      routes: {
        method: string
        path: string
        /**
         * user, owner or public
         */
        access: string
        publicReason: string | null
        scope: string | null
      }[]
    }
  }
  'POST /api/update/back': {
    success: boolean
    message: string
  }
  'POST /api/update/check': {
    updateAvailable: boolean
    latestVersion: string
  }
  'POST /api/update/install': {
    success: boolean
    message: string
  }
  'POST /api/users': {
    user: {
      uuid: string
      username: string
      wallet: string
      owner: boolean
      created: string
      /**
       * When the user was added by hand. Such a user may sign in whatever `auth.admission` says.
       */
      added: string | null
      disabled: string | null
      /**
       * When the data of the deleted user is removed.
       */
      deletionDue: string | null
    }
  }
  'POST /api/wasm/execute': {
    success: boolean
    /**
     * null, a value, or an array of values. Values are as in the arguments.
     */
    result: null | (number | string) | (number | string)[]
  }
  'POST /api/wasm/execute-file': {
    success: boolean
    /**
     * null, a value, or an array of values. Values are as in the arguments.
     */
    result: null | (number | string) | (number | string)[]
  }
  'POST /api/wasm/run': {
    /**
     * Whether the exit code is 0.
     */
    success: boolean
    exitCode: number
    stdout: string
    stderr: string
  }
  'POST /auth/access-requests': {
    success: true
  }
  'POST /auth/code/account': {
    /**
     * The "uuid" of the credentials for `POST /auth/code`.
     */
    uuid: string
    /**
     * The "address" of the credentials.
     */
    address: string
  }
  'POST /auth/logout': {
    success: true
  }
  'POST /auth/restore/compare': {
    success: boolean
    /**
     * The name of the prepared restore.
     */
    prepared: string
    /**
     * Whether the next start of the node applies it.
     */
    planned: boolean
    /**
     * The backup whose restore was planned before, and is not any more.
     */
    replaces: string | null
    /**
     * Whether `restart` works here.
     */
    supervised: boolean
    /**
     * The moment of the state of the backup.
     */
    moment: string
    /**
     * Names of users whom only the backup has.
     */
    addedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * Names of users whom only the node has.
     */
    removedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * Users of both who have another name or another wallet in the backup.
     */
    changedUsers: {
      count: number
      /**
       * @maxItems 100
       */
      first: {
        present: {
          username: string
          /**
           * The wallet with which the user signs in.
           */
          wallet: string
        }
        restored: {
          username: string
          /**
           * The wallet with which the user signs in.
           */
          wallet: string
        }
      }[]
    }
    owner: {
      /**
       * The present owner.
       */
      present: {
        username: string
        /**
         * The wallet with which the user signs in.
         */
        wallet: string
      } | null
      /**
       * The owner in the backup.
       */
      restored: {
        username: string
        /**
         * The wallet with which the user signs in.
         */
        wallet: string
      } | null
    }
    /**
     * Plugins whose state is another one, or that have files or databases, which are replaced.
     */
    plugins: {
      count: number
      /**
       * @maxItems 100
       */
      first: string[]
    }
    /**
     * `same`: the identity of the backup, which the node has now. `another`: the node takes it over, and the node that had it must not run any more. `new`: a new one. `present`: the backup has none.
     */
    identity: string
  }
  'POST /auth/restore/confirm': {
    restarts: boolean
  }
  'POST /auth/{provider}': {
    success: true
    user: {
      uuid: string
      username: string
      wallet: string
      authenticated: true
    }
    sessionToken: string
  }
  'POST /delete': {
    success: boolean
  }
  'POST /mkdir': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'POST /move': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'POST /v1/chat/completions': {
    id: string
    object: 'chat.completion'
    /**
     * Seconds since 1970.
     */
    created: number
    model: string
    choices: {
      index: number
      message: {
        role: 'assistant'
        content: string | null
        refusal: null
        tool_calls?: {
          id: string
          type: 'function'
          function: {
            name: string
            arguments: string
          }
        }[]
      }
      logprobs: null
      finish_reason: string
    }[]
    usage?: {
      prompt_tokens: number
      completion_tokens: number
      total_tokens: number
    }
  }
  'POST /write': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
  'PUT /api/files/quotas/{uuid}': {
    uuid: string
    username: string
    /**
     * Bytes that the user may store; null for no limit.
     */
    quota: number | null
    /**
     * Whether the user has another quota than all users.
     */
    hasOwnQuota: boolean
  }
  'PUT /api/sync/uploads/{id}/blocks/{sha256}': {
    success: boolean
  }
  'PUT /api/web/name': {
    /**
     * The name that the owner gave the node.
     */
    name: string
  }
  'PUT /auth/restore': {
    /**
     * Bytes.
     */
    size: number
    /**
     * The moment of the state.
     */
    created: string
    /**
     * Whether a recovery key is needed.
     */
    encrypted: boolean
  }
  'PUT /write': {
    success: boolean
    /**
     * Absolute path, such as "/photos/cat.jpg".
     */
    path: string
  }
}
