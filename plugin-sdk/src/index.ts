export { addressGroup } from './address-group.ts'
export { parseByteSize } from './byte-size.ts'
export { changeGroupPattern, changeHeaders, changeOrigin, undoHeader } from './change-origin.ts'
export { collectHeap } from './collect-heap.ts'
export {
  answerInTime,
  answerOf,
  type CommandContext,
  type CommandOutput,
  type CommandRun,
  type Commands,
  defineCommands,
  type NodeClient,
  type ProgressLine,
  runningNode,
} from './commands.ts'
export { ChangeGate } from './concurrency/change-gate.ts'
export { ChangePause, type ChangePauseOptions } from './concurrency/change-pause.ts'
export { concurrently } from './concurrency/concurrently.ts'
export { FairSlots, type FairSlotsOptions } from './concurrency/fair-slots.ts'
export { haltTogether } from './concurrency/halt-together.ts'
export { KeyedLock } from './concurrency/keyed-lock.ts'
export { lockFile } from './concurrency/lock-file.ts'
export { lockFolder } from './concurrency/lock-folder.ts'
export { Mutex } from './concurrency/mutex.ts'
export { withTimeLimit } from './concurrency/time-limit.ts'
export { bytesUntilAborted, untilAborted } from './concurrency/until-aborted.ts'
export type { ContentSource } from './content-source.ts'
export type { BaseContext, Log, SetupContext } from './context.ts'
export * from './contracts/ai.ts'
export * from './contracts/ai-chats.ts'
export * from './contracts/backup.ts'
export * from './contracts/change-log.ts'
export * from './contracts/connections.ts'
export * from './contracts/file-headers.ts'
export * from './contracts/file-index.ts'
export * from './contracts/files.ts'
export * from './contracts/flat-store.ts'
export * from './contracts/health.ts'
export * from './contracts/login.ts'
export * from './contracts/node-address.ts'
export * from './contracts/node-identity.ts'
export * from './contracts/node-info.ts'
export * from './contracts/node-restart.ts'
export * from './contracts/node-supervisor.ts'
export * from './contracts/overlay.ts'
export type * from './contracts/prepared-snapshot.ts'
export * from './contracts/previews.ts'
export * from './contracts/restores.ts'
export * from './contracts/sessions.ts'
export * from './contracts/storage.ts'
export * from './contracts/storage-driver.ts'
export * from './contracts/trials.ts'
export * from './contracts/tried-backups.ts'
export * from './contracts/update.ts'
export * from './contracts/user-data.ts'
export * from './contracts/users.ts'
export * from './contracts/wasm.ts'
export * from './contracts/web-pages.ts'
export { nameOf, parentOf } from './entry-paths.ts'
export { messageOf } from './error-text.ts'
export {
  conflict,
  type ErrorBody,
  type ErrorCode,
  errorBodyOf,
  errorStatus,
  invalid,
  isNodekeepError,
  NodekeepError,
  type NodekeepErrorOptions,
} from './errors.ts'
export { defineEvent, type EventBus, type EventType } from './event.ts'
export { inTransaction } from './in-transaction.ts'
export { limitJsonComplexity } from './json-bodies.ts'
export { apiEndpoint, type EndpointNames } from './model-servers/api-endpoint.ts'
export { readWithin } from './model-servers/bounded-body.ts'
export { definePlugin, type Plugin, type PluginDefinition, type SetupResult } from './plugin.ts'
export type { ErrorSerializer, RouteAccess, Routes, RoutesApp, RoutesOptions, SchemaTypes } from './routes.ts'
export { ByteSize, Checked, FilePath, Secret, type Static, Type } from './schema.ts'
export {
  type Contributed,
  type Disposer,
  defineRegistry,
  defineService,
  type EntryCheck,
  lackingMethod,
  type MethodName,
  type Provided,
  type Registry,
  type RegistryMap,
  type RegistryReader,
  type RegistryWriter,
  type Required,
  type Requirement,
  type RequirementMap,
  type Service,
  type ServiceMap,
} from './service.ts'
export type { Migrate, Migration, MigrationChange, StateStore } from './state.ts'
export { createStorageBackend } from './storage/create-storage-backend.ts'
export { flatDriver } from './storage/flat-driver.ts'
export { heldBack } from './storage/held-back.ts'
export { notAfterNow } from './stored-times.ts'
export { ChunkBatch, freeChunk } from './streaming/chunk-batch.ts'
export { clientSignal } from './streaming/client-signal.ts'
export { EventStream } from './streaming/event-stream.ts'
export { GatheredText } from './streaming/gathered-text.ts'
export { type TokenPresentation, Tokens } from './tokens.ts'
export { newTypedCode, readTypedCode } from './typed-code.ts'
export { usernamePattern } from './user-name.ts'
export { userOf } from './user-of.ts'
export { parseWallet } from './wallet.ts'
