module arena-entry-go-net-http

go 1.19
