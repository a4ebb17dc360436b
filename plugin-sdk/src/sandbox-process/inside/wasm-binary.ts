export type { Extent, NumericType } from './binary-types.ts'
export { ByteReader, encodeUnsigned } from './byte-reader.ts'
export { type ModuleImport, type ModuleShape, readModuleShape } from './module-shape.ts'
