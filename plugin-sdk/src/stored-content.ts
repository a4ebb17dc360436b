export { type ByteRange, byteRange } from './stored-content/byte-range.ts'
export {
  refuseConditions,
  removeConditions,
  transferConditions,
  versionError,
  writeConditions,
} from './stored-content/conditional-requests.ts'
export { contentHeaders, mediaTypeOf, refuseAsCode } from './stored-content/content-headers.ts'
export { entityTags, namesTag } from './stored-content/entity-tags.ts'
export { type ContentAnswer, sendArchive, sendContent } from './stored-content/send-content.ts'
export { type ReadableFile, sendFile } from './stored-content/send-file.ts'
export { timeOfSeconds } from './stored-content/time-of-seconds.ts'
export { entityTag, nameVersion } from './stored-content/version-headers.ts'
